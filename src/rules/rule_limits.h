#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config_text/mapping.h"
#include "config_text/reading.h"
#include "rules/limit_level.h"
#include "rules/model.h"

namespace sluice::rules {

/// The levels of a file outside of its rules.
struct FileLevels {
  NamedLevels defaults;
  std::vector<std::pair<std::string_view, NamedLevels>> tiers;

  [[nodiscard]] const NamedLevels* Tier(std::string_view name) const;
  /// Returns whether the tier is unknown, which is reported separately.
  [[nodiscard]] bool Lacks(const std::optional<std::string>& tier) const;
};

/// Reads the quantities of a level. The names of `mapping` include QuantityFields and "limits".
NamedLevels ReadNamedLevels(const config_text::Mapping& mapping, Level level);

/// Reads a limit without weaker levels: numbers, or a rate.
std::optional<Limit> ReadLoneLimit(config_text::Reading& reading, const config_text::Field& field);

/// The limits of one rule as written, and their combination with other levels.
class RuleLimits {
 public:
  RuleLimits(config_text::Reading& reading, const FileLevels& levels)
      : reading_(reading), levels_(levels) {}

  /// Returns false, and reports errors, if they are invalid.
  bool Read(const config_text::Mapping& rule, const config_text::Field& rule_field);

  /// Levels that override the rule's own numbers; null: none.
  struct Levels {
    const NamedLevels* from = nullptr;      ///< Replaces the rule's own numbers (`rollout`).
    const NamedLevels* stronger = nullptr;  ///< Quantities of an override.
  };
  /// `tier` is the rule's own, if any. Errors are reported at `place`.
  LimitVariants Make(const std::optional<std::string>& tier, const Levels& levels,
                     const config_text::Field& place);

  /// Reports names in an override that this rule does not have.
  void CheckOverride(const NamedLevels& override_levels);
  /// The same for `from`, the numbers of callers outside of a rollout.
  void CheckFrom(const config_text::Field& from, const NamedLevels& levels);

 private:
  struct Spec {
    std::string name{};        ///< Empty: not given.
    config_text::Field field;  ///< Its field in the rule.
    config_text::Field cost_field{};
    config_text::Field count_field{};
    std::string type{};
    bool has_type = false;  ///< The file says it.
    Cost cost{};
    std::int64_t scale = 1;
    LimitLevel own{};
    bool shadow = false;
    Schedule schedule{};
  };
  struct Made {
    std::optional<Limits> limits;
    std::string missing{};
  };

  bool ReadItem(const config_text::Field& item, const Spec& of_rule);
  void ReadCounting(const config_text::Mapping& mapping, Spec& spec, LimitLevel& level);
  void FindMoney(Spec& spec);
  void CheckMoney(const Spec& spec, LimitLevel& level);
  Limit Scaled(const Spec& spec, const Limit& limit);
  bool FindNames();
  Made MakeFor(const NamedLevels* tier, const Levels& levels);
  [[nodiscard]] bool IsAbsent(const Spec& spec, const NamedLevels* from) const;
  void CheckCost(const Spec& spec, const NamedLimit& limit);
  LimitLevel LevelsOf(const Spec& spec, const NamedLevels* tier, const Levels& levels) const;

  config_text::Reading& reading_;
  const FileLevels& levels_;
  LimitLevel all_;  ///< Quantities of all limits of the rule.
  std::vector<Spec> specs_;
};

}  // namespace sluice::rules

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/limit_level.h"
#include "rules/mapping.h"
#include "rules/model.h"
#include "rules/reading.h"

namespace sluice::rules {

/// What a file says of limits before its rules do.
struct FileLevels {
  NamedLevels defaults;
  std::vector<std::pair<std::string_view, NamedLevels>> tiers;

  [[nodiscard]] const NamedLevels* Tier(std::string_view name) const;
  /// Whether the tier is not one of those that the file names, which is a mistake of its own.
  [[nodiscard]] bool Lacks(const std::optional<std::string>& tier) const;
};

/// Reads what a level says of limits; `mapping` has QuantityFields and "limits" among its names.
NamedLevels ReadNamedLevels(const Mapping& mapping, Level level);

/// A limit that has nothing above it: numbers, or a rate.
std::optional<Limit> ReadLoneLimit(Reading& reading, const Field& field);

/// The limits of one rule, as the rule itself has them, and what becomes of them.
class RuleLimits {
 public:
  RuleLimits(Reading& reading, const FileLevels& levels) : reading_(reading), levels_(levels) {}

  /// False if they can't be used; then it has been said why.
  bool Read(const Mapping& rule, const Field& rule_field);

  /// `tier`: the rule's own, if it has one. `stronger`: what an override says, which stands at
  /// `place`.
  Variants Make(const std::optional<std::string>& tier, const NamedLevels* stronger,
                const Field& place);

  /// Reports what an override can't say to this rule.
  void CheckOverride(const NamedLevels& override_levels);

 private:
  struct Spec {
    std::string name{};  ///< Empty: not given.
    Field field;         ///< Where it is in the rule.
    Field cost_field;
    std::string type;
    Cost cost;
    LimitLevel own{};
  };
  struct Made {
    std::optional<Limits> limits;
    std::string missing{};
  };

  bool ReadItem(const Field& item, std::string_view type, const Cost& cost,
                const Field& cost_field);
  bool FindNames();
  Made MakeFor(const NamedLevels* tier, const NamedLevels* stronger);
  void CheckCost(const Spec& spec, const NamedLimit& limit);
  LimitLevel LevelsOf(const Spec& spec, const NamedLevels* tier, const NamedLevels* stronger) const;

  Reading& reading_;
  const FileLevels& levels_;
  LimitLevel all_;  ///< What the rule says of all its limits.
  std::vector<Spec> specs_;
};

}  // namespace sluice::rules

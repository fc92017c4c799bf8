#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config_text/diagnostic.h"
#include "envoy/domain_tables.h"

namespace sluice::app {

enum class ConditionForm : std::uint8_t { kExact, kGlob, kPresent, kAbsent };

/// One condition of `match`.
struct ConditionText {
  std::string_view attribute;
  ConditionForm form = ConditionForm::kPresent;
  /// As Envoy's configuration has them: in a wildcard only '*' stands for something else.
  std::vector<std::string_view> values;
};

/// Whether `match` can have a condition on an attribute of that name.
[[nodiscard]] bool CanBeCondition(std::string_view key);

/// Rules of a rule file, as text.
class RuleTexts {
 public:
  void AddLimit(const envoy::Descriptor& of, const std::vector<ConditionText>& conditions);
  /// A rule that lets its calls pass, and keeps those after it from them.
  void AddPass(const envoy::Descriptor& because_of, const std::vector<ConditionText>& conditions);

  /// The file.
  [[nodiscard]] std::string Join();
  /// Drops the rules that the errors are about, by the lines that Join gave them. False if it
  /// finds none.
  bool DropThoseWith(const std::vector<config_text::Diagnostic>& errors,
                     std::vector<config_text::Diagnostic>& remarks);

 private:
  struct OneRule {
    std::string id;
    std::string text;
    std::string file;
    config_text::Position position;
    int first_line = 0;  ///< In the file that Join made.
    int last_line = 0;
  };

  void Add(const envoy::Descriptor& of, std::string id,
           const std::vector<ConditionText>& conditions, const std::string& fields);
  std::string UniqueId(std::string id);

  std::vector<OneRule> rules_;
  std::set<std::string> ids_;
  std::set<std::string> attributes_;  ///< All that the rules name.
};

}  // namespace sluice::app

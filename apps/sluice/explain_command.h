#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rules/explain.h"

namespace sluice::app {

struct ExplainOptions {
  std::string rules;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::int64_t cost = 1;
  bool json = false;
};

/// Prints which lists and rules a call meets, and why not the others. Returns the exit code.
int ExplainCall(const ExplainOptions& options);

/// How the call ends, as far as rules can say: "allowed by the allow list".
[[nodiscard]] std::string Conclusion(const rules::Explanation& explanation,
                                     const rules::RuleFile& file);
[[nodiscard]] std::string ExplanationText(const rules::Explanation& explanation,
                                          const rules::RuleFile& file,
                                          const ExplainOptions& options);
[[nodiscard]] std::string ExplanationJson(const rules::Explanation& explanation,
                                          const rules::RuleFile& file,
                                          const ExplainOptions& options);

/// "built-in", "defaults", "tier", "rule", "override".
[[nodiscard]] const char* LevelName(rules::Level level);
/// A key as stores name it.
[[nodiscard]] std::string KeyName(const rules::ExplainedLimit& limit);

}  // namespace sluice::app

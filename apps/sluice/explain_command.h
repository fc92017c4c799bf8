#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/time.h>

#include "match/explain.h"

namespace sluice::app {

struct ExplainOptions {
  std::string rules;
  std::string entries;  ///< A file; empty: none.
  std::vector<std::pair<std::string, std::string>> attributes;
  std::int64_t cost = 1;
  std::vector<std::pair<std::string, std::int64_t>> use;  ///< Instead of `cost`, if not empty.
  std::optional<WallTime> at;                             ///< Not set: now.
  bool json = false;
};

/// Prints which lists and rules a call matches, and why not the others. Returns the exit code.
int ExplainCall(const ExplainOptions& options);

/// Returns the decision as far as it follows from rules alone: "allowed by the allow list".
[[nodiscard]] std::string Conclusion(const match::Explanation& explanation,
                                     const rules::RuleFile& file);
[[nodiscard]] std::string ExplanationText(const match::Explanation& explanation,
                                          const rules::RuleFile& file,
                                          const ExplainOptions& options);
[[nodiscard]] std::string ExplanationJson(const match::Explanation& explanation,
                                          const rules::RuleFile& file,
                                          const ExplainOptions& options);

/// "built-in", "defaults", "tier", "rule", "override".
[[nodiscard]] const char* LevelName(rules::Level level);
/// A key as stores name it.
[[nodiscard]] std::string KeyName(const match::ExplainedLimit& limit);

}  // namespace sluice::app

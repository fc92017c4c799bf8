#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/time.h>

#include "rules/model.h"

namespace sluice::rules {

/// Formats a share in hundredths of a percent: "12.5 %".
[[nodiscard]] std::string PercentText(std::uint32_t share);

/// Whether algorithms are written that the file omits.
enum class AlgorithmText : std::uint8_t { kAsInFile, kWritten };

/// Returns the previous numbers of a rule as the value of `from` of a rollout: a YAML flow mapping
/// on one line, `{limit: 100 per minute}`. Of a rule that is a rollout itself: its `from`. Nothing
/// if the rule does not limit callers outside of a rollout: it is disabled or in shadow, or a
/// rollout without `from`. Omits limits in shadow. `from` without an algorithm has that of its
/// rule: use `kWritten` for rules that change it.
[[nodiscard]] std::optional<std::string> FromText(
    const Rule& previous, AlgorithmText algorithm = AlgorithmText::kAsInFile);

/// A rule file with `from` filled in.
struct FilledText {
  std::string yaml;
  /// Ids of rules whose `from` must be written by hand: their `rollout` is shared with another rule
  /// (by an alias or a merge key) or has an anchor or a tag.
  std::vector<std::string> not_filled;
};

/// Fills in `from` in each rollout that has none and whose rule `previous` has, in force at `now`.
/// The rest of the text stays as it is; a text with errors is returned unchanged. Read the result:
/// numbers of the previous rule may not fit the new one (another algorithm, other names of limits),
/// which is an error at `from`.
[[nodiscard]] FilledText FillInFrom(const RuleFile& previous, std::string_view yaml, WallTime now);

}  // namespace sluice::rules

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/time.h>

#include "rules/model.h"

namespace sluice::rules {

/// "12.5 %", of a share in hundredths of a percent.
[[nodiscard]] std::string PercentText(std::uint32_t share);

/// Whether a text names algorithms that the file does not.
enum class AlgorithmText : std::uint8_t { kAsInFile, kWritten };

/// The numbers that callers had under a rule, as the value of `from` of a rollout: a YAML flow
/// mapping on one line, `{limit: 100 per minute}`. Of a rule that is a rollout itself: its `from`.
/// Nothing if callers outside of a rollout must not be limited by the rule: it is disabled or in
/// shadow, or a rollout without `from`. Limits in shadow are left out. `from` without an algorithm
/// means that of its rule: `kWritten` is for rules that change it.
[[nodiscard]] std::optional<std::string> FromText(
    const Rule& previous, AlgorithmText algorithm = AlgorithmText::kAsInFile);

/// A rule file in which `from` was filled in.
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

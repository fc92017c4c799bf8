#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/mistake.h"
#include "rules/model.h"

namespace sluice::rules {

struct ReadResult {
  std::optional<RuleFile> file;   ///< Set if there are no mistakes.
  std::vector<Mistake> mistakes;  ///< All of them, in the order of the file.
  std::vector<Mistake> warnings;  ///< What works, but is hardly meant.
};

/// Reads a rule file, as docs/rules.md describes it. `name` is for messages.
ReadResult Read(std::string name, std::string_view yaml);

/// A file that can't be read is a mistake, too.
ReadResult ReadFile(const std::string& path);

/// Files above this size are refused.
inline constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;

}  // namespace sluice::rules

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_text/diagnostic.h"
#include "rules/model.h"

namespace sluice::rules {

struct ReadResult {
  std::optional<RuleFile> file;                   ///< Set if there are no errors.
  std::vector<config_text::Diagnostic> errors;    ///< All of them, in the order of the file.
  std::vector<config_text::Diagnostic> warnings;  ///< Valid, but probably not intended.
};

/// Reads a rule file, as docs/rules.md describes it. `name` is for messages.
ReadResult Read(std::string name, std::string_view yaml);

/// A file that can't be read is an error, too.
ReadResult ReadFile(const std::string& path);

/// Files above this size are refused.
inline constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;

}  // namespace sluice::rules

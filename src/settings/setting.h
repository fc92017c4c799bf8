#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "settings/config.h"

namespace sluice::settings {

/// The error in a value, if there is one.
using Problem = std::optional<std::string>;

/// How one field of a Config is set from text and printed.
struct Access {
  Problem (*set)(Config& config, std::string_view text);
  std::string (*get)(const Config& config);
};

/// One field of a Config: `http.listen` in a file, `--http-listen` as a flag, `SLUICE_HTTP_LISTEN`
/// in the environment.
struct Setting {
  std::string_view name;
  std::string_view also;   ///< Another name for the flag, without its dashes; may be empty.
  std::string_view value;  ///< A placeholder: "ADDRESS", "N", …
  std::string_view meaning;
  Access access;
  bool is_secret = false;   ///< Never shown.
  std::string_view otel{};  ///< OpenTelemetry's variable for the same; SLUICE_… wins.

  [[nodiscard]] std::string flag() const;
  [[nodiscard]] std::string variable() const;
  /// The part of the name before its first dot; empty if there is none.
  [[nodiscard]] std::string_view section() const;
};

/// All settings, in the order of the documentation.
[[nodiscard]] std::span<const Setting> Settings();

/// Null if there is none of this name.
[[nodiscard]] const Setting* FindSetting(std::string_view name);

}  // namespace sluice::settings

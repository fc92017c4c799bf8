#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config_text/reading.h"

namespace sluice::rules {

/// Returns the well-known attributes.
[[nodiscard]] std::span<const std::string_view> UsualAttributes();

/// Returns whether `name` is `other` with a suffix, such as `tenant_id`, and so not a misspelling.
[[nodiscard]] bool Extends(std::string_view name, std::string_view other);

/// Returns the well-known attribute that `name` is a misspelling or a synonym of. Nothing if it is
/// well-known itself, or similar to none.
[[nodiscard]] std::optional<std::string_view> MisspelledAttribute(std::string_view name);

/// The names of attributes that a rule file may use: well-known ones, those added by the server,
/// and those in the file's `attributes`. Without that list, callers may send others.
class AttributeNames {
 public:
  /// Reads the file's `attributes`.
  void Declare(config_text::Reading& reading, const config_text::Field& field);

  [[nodiscard]] bool is_declared() const { return is_declared_; }
  /// Returns whether the file declares the name.
  [[nodiscard]] bool Declares(std::string_view name) const;
  /// Returns whether the name is declared, well-known or added by the server.
  [[nodiscard]] bool Knows(std::string_view name) const;
  /// Returns "; did you mean `tenant`?", or an empty text.
  [[nodiscard]] std::string Suggestion(std::string_view name) const;

 private:
  bool is_declared_ = false;
  std::vector<std::string> declared_;  ///< Sorted.
};

}  // namespace sluice::rules

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config_text/reading.h"

namespace sluice::rules {

/// The attributes that conditions are usually about.
[[nodiscard]] std::span<const std::string_view> UsualAttributes();

/// Whether a name is another one with a word after it, as `tenant_id` is: no misspelling.
[[nodiscard]] bool Extends(std::string_view name, std::string_view other);

/// The usual attribute that `name` is a misspelling or another word of. Nothing if it is one
/// itself, or close to none.
[[nodiscard]] std::optional<std::string_view> MisspelledAttribute(std::string_view name);

/// The names of attributes that a rule file may use: the usual ones, those that the server adds
/// itself, and those of the file's `attributes`. Without that list, any other name may be an
/// attribute that some caller sends.
class AttributeNames {
 public:
  /// Reads the file's `attributes`.
  void Declare(config_text::Reading& reading, const config_text::Field& field);

  [[nodiscard]] bool is_declared() const { return is_declared_; }
  /// Whether the file declares the name.
  [[nodiscard]] bool Declares(std::string_view name) const;
  /// Whether the name is declared, usual or added by the server.
  [[nodiscard]] bool Knows(std::string_view name) const;
  /// "; did you mean `tenant`?", or nothing.
  [[nodiscard]] std::string Suggestion(std::string_view name) const;

 private:
  bool is_declared_ = false;
  std::vector<std::string> declared_;  ///< Sorted.
};

}  // namespace sluice::rules

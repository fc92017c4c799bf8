#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}  // namespace re2

namespace sluice::rules {

/// Returns RE2's error for a regular expression; nothing if it is valid.
[[nodiscard]] std::optional<std::string> RegexProblem(std::string_view text);
/// The same. Adds the instructions of the compiled expression to `size`: counted repetitions expand
/// a few characters to thousands, which takes milliseconds.
[[nodiscard]] std::optional<std::string> RegexProblem(std::string_view text, std::size_t& size);

/// A regular expression (RE2), searched anywhere in a value unless it is anchored.
///
/// Callers can't evade a rule with special bytes: '.' also matches a newline, and in an expression
/// of ASCII characters every byte, even if the value is not UTF-8.
///
/// Thread-safe. If RE2 exceeds the memory of its DFA, it falls back to a slower algorithm; no match
/// is lost.
class Regex {
 public:
  /// Returns nothing if `RegexProblem` finds an error.
  [[nodiscard]] static std::optional<Regex> Compile(std::string_view text);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  [[nodiscard]] bool Matches(std::string_view value) const;

 private:
  explicit Regex(std::unique_ptr<re2::RE2> compiled);

  std::unique_ptr<re2::RE2> compiled_;
};

/// Returns whether '.' and classes match bytes in this expression, not UTF-8 characters.
[[nodiscard]] bool ReadsBytes(std::string_view text);

}  // namespace sluice::rules

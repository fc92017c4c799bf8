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
/// The same. Adds the instructions of the compiled expression to `size`: counted repetitions make
/// thousands of a few characters, which takes milliseconds.
[[nodiscard]] std::optional<std::string> RegexProblem(std::string_view text, std::size_t& size);

/// A regular expression (RE2), found anywhere in a value unless it is anchored.
///
/// A caller must not escape a rule by what it sends: '.' stands for a newline too, and in an
/// expression of ASCII characters for every byte, also where the value is not UTF-8.
///
/// Thread-safe. If RE2 runs out of the memory that it may use for its fast way, it takes the slow
/// one; a match is never lost.
class Regex {
 public:
  /// Nothing if `RegexProblem` finds one.
  [[nodiscard]] static std::optional<Regex> Compile(std::string_view text);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  [[nodiscard]] bool Matches(std::string_view value) const;

 private:
  explicit Regex(std::unique_ptr<re2::RE2> compiled);

  std::unique_ptr<re2::RE2> compiled_;
};

/// True if '.' and the like stand for bytes in this expression, and not for UTF-8 characters.
[[nodiscard]] bool ReadsBytes(std::string_view text);

}  // namespace sluice::rules

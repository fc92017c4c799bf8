#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::rules {

/// Returns the error in a glob; nothing if it is valid.
[[nodiscard]] std::optional<std::string> GlobProblem(std::string_view text);

/// A pattern for whole values: '*' matches any bytes, '?' one byte, '\' escapes the next byte.
/// Everything else is literal, including brackets.
///
/// Immutable and thread-safe. A match does not allocate. Its time is bounded by the size of the
/// value times the length of a segment with '?' between two '*', whatever the value.
class Glob {
 public:
  /// Returns nothing if `GlobProblem` finds an error.
  [[nodiscard]] static std::optional<Glob> Compile(std::string_view text);

  [[nodiscard]] bool Matches(std::string_view value) const;

  /// A segment of the pattern: between two '*', before the first, or after the last.
  struct Segment {
    std::uint32_t begin = 0;  ///< In `bytes` and `any`.
    std::uint32_t size = 0;
    bool literal = true;  ///< No '?' in it.
  };

  /// Literal text that every matching value contains.
  struct Literal {
    std::string_view text;
    bool at_begin = false;  ///< Only at the start of the value.
    bool at_end = false;
  };
  /// Returns all non-empty literals; they point into this glob.
  [[nodiscard]] std::vector<Literal> Literals() const;
  /// True if there is one literal, and every value that contains it matches, as with "sk_*".
  [[nodiscard]] bool IsJustLiteral() const;

 private:
  [[nodiscard]] bool MatchesAt(const Segment& segment, const char* at) const;
  /// Returns the first occurrence of a segment in `value`, or npos.
  [[nodiscard]] std::size_t FindSegment(const Segment& segment, std::string_view value) const;

  std::string bytes_;
  std::vector<bool> any_;          ///< Marks '?' in `bytes_`.
  std::vector<Segment> segments_;  ///< One more than there are '*'.
};

}  // namespace sluice::rules

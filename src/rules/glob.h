#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::rules {

/// Returns the error in a glob: "ends with '\', which takes the next character as it
/// is". Nothing if it is right.
[[nodiscard]] std::optional<std::string> GlobProblem(std::string_view text);

/// A pattern for whole values: '*' stands for any bytes, '?' for one byte, '\' takes the next byte
/// as it is. Everything else stands for itself, brackets too.
///
/// Immutable, so any thread may match. A match allocates nothing and looks at each byte of the
/// value at most as often as the pattern has '?' in a row of text between two '*', so that no value
/// makes it slow.
class Glob {
 public:
  /// Nothing if `GlobProblem` finds one.
  [[nodiscard]] static std::optional<Glob> Compile(std::string_view text);

  [[nodiscard]] bool Matches(std::string_view value) const;

  /// The text between two '*', before the first, or after the last.
  struct Piece {
    std::uint32_t begin = 0;  ///< In `bytes` and `any`.
    std::uint32_t size = 0;
    bool literal = true;  ///< No '?' in it.
  };

  /// Text without '?' that every value has which matches.
  struct Literal {
    std::string_view text;
    bool at_begin = false;  ///< There and nowhere else.
    bool at_end = false;
  };
  /// All such texts that are not empty; they point into this glob.
  [[nodiscard]] std::vector<Literal> Literals() const;
  /// True if `Literals` has one text and a value matches whenever it has it, as with "sk_*".
  [[nodiscard]] bool IsJustLiteral() const;

 private:
  [[nodiscard]] bool PieceAt(const Piece& piece, const char* at) const;
  /// Where the piece is first found in `value`, or npos.
  [[nodiscard]] std::size_t FindPiece(const Piece& piece, std::string_view value) const;

  std::string bytes_;
  std::vector<bool> any_;      ///< Which of `bytes_` stand for any byte.
  std::vector<Piece> pieces_;  ///< One more than there are '*'.
};

}  // namespace sluice::rules

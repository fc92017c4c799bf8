#include "rules/glob.h"

#include <algorithm>
#include <cstring>

namespace sluice::rules {

std::optional<std::string> GlobProblem(std::string_view text) {
  if (text.empty()) return "is empty, and so matches nothing";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') continue;
    if (i + 1 == text.size()) {
      return "ends with '\\', which takes the next character as it is; for a '\\' write '\\\\'";
    }
    ++i;
  }
  return std::nullopt;
}

std::optional<Glob> Glob::Compile(std::string_view text) {
  if (GlobProblem(text)) return std::nullopt;
  Glob glob;
  Piece piece;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '*') {
      glob.pieces_.push_back(piece);
      // Two in a row say no more than one.
      while (i + 1 < text.size() && text[i + 1] == '*') ++i;
      piece = {.begin = static_cast<std::uint32_t>(glob.bytes_.size())};
      continue;
    }
    const bool any = text[i] == '?';
    if (text[i] == '\\') ++i;
    glob.bytes_.push_back(text[i]);
    glob.any_.push_back(any);
    ++piece.size;
    if (any) piece.literal = false;
  }
  glob.pieces_.push_back(piece);
  return glob;
}

bool Glob::PieceAt(const Piece& piece, const char* at) const {
  if (piece.size == 0) return true;  // `at` may be null then.
  if (piece.literal) return std::memcmp(bytes_.data() + piece.begin, at, piece.size) == 0;
  for (std::uint32_t i = 0; i < piece.size; ++i) {
    const std::uint32_t j = piece.begin + i;
    if (!any_[j] && bytes_[j] != at[i]) return false;
  }
  return true;
}

std::size_t Glob::FindPiece(const Piece& piece, std::string_view value) const {
  if (piece.size > value.size()) return std::string_view::npos;
  if (piece.literal) {
    // Unlike string_view::find, this takes linear time whatever it is given.
    const void* found = memmem(value.data(), value.size(), bytes_.data() + piece.begin, piece.size);
    if (found == nullptr) return std::string_view::npos;
    return static_cast<std::size_t>(static_cast<const char*>(found) - value.data());
  }
  for (std::size_t i = 0; i + piece.size <= value.size(); ++i) {
    if (PieceAt(piece, value.data() + i)) return i;
  }
  return std::string_view::npos;
}

bool Glob::Matches(std::string_view value) const {
  const Piece& first = pieces_.front();
  if (pieces_.size() == 1) return value.size() == first.size && PieceAt(first, value.data());
  const Piece& last = pieces_.back();
  if (value.size() < std::size_t{first.size} + last.size) return false;
  if (!PieceAt(first, value.data())) return false;
  if (!PieceAt(last, value.data() + value.size() - last.size)) return false;
  value.remove_prefix(first.size);
  value.remove_suffix(last.size);
  // Taking each piece where it is first found leaves the most room for those after it.
  for (std::size_t i = 1; i + 1 < pieces_.size(); ++i) {
    const std::size_t at = FindPiece(pieces_[i], value);
    if (at == std::string_view::npos) return false;
    value.remove_prefix(at + pieces_[i].size);
  }
  return true;
}

bool Glob::IsJustLiteral() const {
  const auto texts = std::count_if(pieces_.begin(), pieces_.end(),
                                   [](const Piece& piece) { return piece.size > 0; });
  return texts == 1 && std::none_of(any_.begin(), any_.end(), [](bool any) { return any; });
}

std::vector<Glob::Literal> Glob::Literals() const {
  std::vector<Literal> literals;
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    const std::uint32_t end = pieces_[p].begin + pieces_[p].size;
    for (std::uint32_t i = pieces_[p].begin; i < end;) {
      std::uint32_t next = i;
      while (next < end && !any_[next]) ++next;
      if (next > i) {
        literals.push_back({.text = std::string_view(bytes_).substr(i, next - i),
                            .at_begin = p == 0 && i == 0,
                            .at_end = p + 1 == pieces_.size() && next == bytes_.size()});
      }
      i = next + 1;
    }
  }
  return literals;
}

}  // namespace sluice::rules

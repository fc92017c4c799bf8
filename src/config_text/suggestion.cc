#include "config_text/suggestion.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/ascii.h"

namespace sluice::config_text {
namespace {

constexpr std::size_t kMaxCompared = 64;
constexpr std::size_t kMaxQuoted = 80;

// Case and the choice of separator are no slips.
char Folded(char c) { return c == '-' || c == ' ' ? '_' : AsciiLower(c); }

// Damerau's distance, where no part is edited twice. Both at most kMaxCompared long.
std::size_t Slips(std::string_view a, std::string_view b) {
  using Row = std::array<std::size_t, kMaxCompared + 1>;
  Row before_last{};
  Row last{};
  Row row{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = Folded(a[i - 1]) == Folded(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && Folded(a[i - 1]) == Folded(b[j - 2]) &&
                           Folded(a[i - 2]) == Folded(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string_view> ClosestName(std::string_view written,
                                            std::span<const std::string_view> names) {
  if (written.empty() || written.size() > kMaxCompared) return std::nullopt;
  const std::size_t allowed = written.size() <= 3 ? 1 : written.size() <= 6 ? 2 : 3;
  std::optional<std::string_view> closest;
  std::size_t fewest = allowed + 1;
  for (const std::string_view name : names) {
    if (name.size() > kMaxCompared) continue;
    const std::size_t slips = Slips(written, name);
    // More slips than half of its letters make it another word.
    if (slips >= fewest || slips * 2 > name.size()) continue;
    fewest = slips;
    closest = name;
  }
  return closest;
}

std::string DidYouMean(std::string_view written, std::span<const std::string_view> names) {
  const auto closest = ClosestName(written, names);
  if (!closest) return {};
  return "; did you mean " + Shown(*closest) + "?";
}

std::string Shown(std::string_view text) {
  std::size_t end = std::min(text.size(), kMaxQuoted);
  // Not in the middle of a character.
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return "`" + std::string(text.substr(0, end)) + (end < text.size() ? "…`" : "`");
}

}  // namespace sluice::config_text

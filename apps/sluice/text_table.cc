#include "text_table.h"

#include <algorithm>
#include <string_view>

#include "base/ascii.h"

namespace sluice::app {

void TextTable::Print(std::size_t indent, std::string& out) const {
  std::vector<std::size_t> widths(columns_.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  for (const auto& row : rows_) {
    const std::size_t begin = out.size();
    out.append(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) out += "  ";
      const std::size_t space = widths[i] - Width(row[i]);
      if (columns_[i] == Align::kRight) out.append(space, ' ');
      out += row[i];
      if (columns_[i] == Align::kLeft) out.append(space, ' ');
    }
    while (out.size() > begin && out.back() == ' ') out.pop_back();
    out += '\n';
  }
}

std::size_t Width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Shown(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    if (IsControl(c)) {
      AppendHex(c, shown += "\\x");
    } else {
      shown += c;
    }
  }
  return shown;
}

}  // namespace sluice::app

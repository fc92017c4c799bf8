#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::app {

/// Rows of text in columns as wide as they need to be, two spaces apart.
class TextTable {
 public:
  enum class Align : std::uint8_t { kLeft, kRight };

  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns, or fewer.
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// Each row on a line, `indent` spaces from the left, without spaces at its end.
  void Print(std::size_t indent, std::string& out) const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// How many columns of a terminal the text takes up: characters of UTF-8.
[[nodiscard]] std::size_t Width(const std::string& text);

/// Text from outside, fit for a terminal: control characters as \xNN.
[[nodiscard]] std::string Shown(std::string_view text);

}  // namespace sluice::app

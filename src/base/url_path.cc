#include "base/url_path.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/ascii.h"

namespace sluice {
namespace {

char Capital(char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; }

// Returns the byte of an escape at the beginning, or -1.
int Escaped(std::string_view text) { return text.starts_with('%') ? HexByte(text.substr(1)) : -1; }

bool StaysEscaped(int byte, PathFolding folding) {
  return byte == '/' || byte == '%' || byte == '?' || byte == '#' || byte < 0x20 || byte == 0x7F ||
         (byte == ';' && folding.parameters);
}

struct Folding {
  std::string_view name;
  bool PathFolding::* flag;
};

constexpr std::array<Folding, 3> kFoldings = {{{"case", &PathFolding::letter_case},
                                               {"parameters", &PathFolding::parameters},
                                               {"trailing_dots", &PathFolding::trailing_dots}}};

class Path {
 public:
  Path(std::span<char> buffer, PathFolding folding) : buffer_(buffer), folding_(folding) {}

  void Add(char c) { buffer_[size_++] = folding_.letter_case ? AsciiLower(c) : c; }

  // A segment is whole: '/' or the end follows.
  void EndSegment() {
    if (folding_.trailing_dots) RemoveTrailingDots();
    const std::string_view segment = Segment();
    if (segment.empty() || segment == ".") {
      size_ = begin_;
    } else if (segment == "..") {
      size_ = begin_ == 1 ? 1 : Text().substr(0, begin_ - 1).rfind('/') + 1;
    } else {
      Add('/');
    }
    begin_ = size_;
  }

  void Begin() {
    Add('/');
    begin_ = 1;
  }

  // Without the trailing '/', for which the buffer has no space.
  [[nodiscard]] std::string_view Finish() {
    if (folding_.trailing_dots) RemoveTrailingDots();
    const std::string_view segment = Segment();
    if (segment == "." || segment == "..") EndSegment();
    if (size_ > 1 && buffer_[size_ - 1] == '/') --size_;
    return Text();
  }

 private:
  [[nodiscard]] std::string_view Text() const { return {buffer_.data(), size_}; }
  [[nodiscard]] std::string_view Segment() const {
    return {buffer_.data() + begin_, size_ - begin_};
  }

  // A segment of nothing but dots and blanks stays: it may be a way up.
  void RemoveTrailingDots() {
    const std::size_t last = Segment().find_last_not_of(". ");
    if (last != std::string_view::npos) size_ = begin_ + last + 1;
  }

  std::span<char> buffer_;
  PathFolding folding_;
  std::size_t size_ = 0;
  std::size_t begin_ = 0;  ///< Of the segment that is being read.
};

}  // namespace

std::optional<PathFolding> ParsePathFolding(std::span<const std::string> names) {
  PathFolding folding;
  for (const std::string& name : names) {
    const auto found = std::find_if(kFoldings.begin(), kFoldings.end(),
                                    [&](const Folding& each) { return each.name == name; });
    if (found == kFoldings.end()) return std::nullopt;
    folding.*found->flag = true;
  }
  return folding;
}

std::vector<std::string> NamesOf(PathFolding folding) {
  std::vector<std::string> names;
  for (const Folding& each : kFoldings) {
    if (folding.*each.flag) names.emplace_back(each.name);
  }
  return names;
}

std::string_view NormalizePath(std::string_view path, std::span<char> buffer, PathFolding folding) {
  if (path.empty() || buffer.size() < path.size()) return "/";
  Path normal(buffer, folding);
  normal.Begin();
  if (path.starts_with('/')) path.remove_prefix(1);
  while (!path.empty()) {
    const int byte = Escaped(path);
    if (byte >= 0 && !StaysEscaped(byte, folding)) {
      normal.Add(static_cast<char>(byte));
      path.remove_prefix(3);
    } else if (byte >= 0) {
      normal.Add('%');
      normal.Add(Capital(path[1]));
      normal.Add(Capital(path[2]));
      path.remove_prefix(3);
    } else if (path[0] == '/') {
      normal.EndSegment();
      path.remove_prefix(1);
    } else if (path[0] == ';' && folding.parameters) {
      path.remove_prefix(std::min(path.find('/'), path.size()));
    } else {
      normal.Add(path[0]);
      path.remove_prefix(1);
    }
  }
  return normal.Finish();
}

}  // namespace sluice

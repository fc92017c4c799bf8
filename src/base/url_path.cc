#include "base/url_path.h"

#include <cstddef>

namespace sluice {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char Capital(char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; }

// What an escape at the beginning stands for, or -1.
int Escaped(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return -1;
  const int high = HexValue(text[1]);
  const int low = HexValue(text[2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

bool StaysEscaped(int byte) { return byte == '/' || byte == '%' || byte < 0x20 || byte == 0x7F; }

class Path {
 public:
  explicit Path(std::span<char> room) : room_(room) {}

  void Add(char c) { room_[size_++] = c; }

  // A segment is whole: '/' or the end follows.
  void EndSegment() {
    const std::string_view segment(room_.data() + begin_, size_ - begin_);
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

  // With the last '/', which the room has no place for, left out.
  [[nodiscard]] std::string_view Finish() {
    const std::string_view segment(room_.data() + begin_, size_ - begin_);
    if (segment == "." || segment == "..") {
      EndSegment();
    }
    if (size_ > 1 && room_[size_ - 1] == '/') --size_;
    return Text();
  }

 private:
  [[nodiscard]] std::string_view Text() const { return {room_.data(), size_}; }

  std::span<char> room_;
  std::size_t size_ = 0;
  std::size_t begin_ = 0;  ///< Of the segment that is being read.
};

}  // namespace

std::string_view NormalizePath(std::string_view path, std::span<char> room) {
  if (path.empty() || room.size() < path.size()) return "/";
  Path normal(room);
  normal.Begin();
  if (path.starts_with('/')) path.remove_prefix(1);
  while (!path.empty()) {
    const int byte = Escaped(path);
    if (byte >= 0 && !StaysEscaped(byte)) {
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
    } else {
      normal.Add(path[0]);
      path.remove_prefix(1);
    }
  }
  return normal.Finish();
}

}  // namespace sluice

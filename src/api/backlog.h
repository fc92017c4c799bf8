#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::api {

/// Bytes of a client that have arrived and are not read yet, because its session may not go on.
class Backlog {
 public:
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  /// Memory, in bytes.
  [[nodiscard]] std::size_t held() const { return bytes_.capacity(); }

  void Add(std::string_view bytes) { bytes_ += bytes; }
  /// Lets `read` take from the front of them what it can: it gets a view, and leaves in it what
  /// remains.
  template <typename Read>
  void Take(const Read& read) {
    std::string_view rest = bytes_;
    read(rest);
    bytes_.erase(0, bytes_.size() - rest.size());
    if (bytes_.empty() && bytes_.capacity() > kKept) bytes_ = std::string();
  }

 private:
  static constexpr std::size_t kKept = std::size_t{4} << 10;  ///< Of memory, for the next bytes.

  std::string bytes_;
};

}  // namespace sluice::api

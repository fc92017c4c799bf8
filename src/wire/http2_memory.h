#pragma once

#include <array>
#include <cstddef>

#include <nghttp2/nghttp2.h>

namespace sluice::wire {

/// A free-list allocator for the HTTP/2 sessions of one thread: nghttp2 makes several small,
/// short-lived allocations per call. Must outlive its sessions.
class Http2Memory {
 public:
  Http2Memory();
  ~Http2Memory();
  Http2Memory(const Http2Memory&) = delete;
  Http2Memory& operator=(const Http2Memory&) = delete;

  [[nodiscard]] nghttp2_mem* functions() { return &functions_; }

 private:
  /// The header of each block. `next` links free blocks.
  struct alignas(std::max_align_t) Head {
    std::size_t capacity;
    Head* next;
  };
  struct SizeClass {
    Head* first = nullptr;
    std::size_t held = 0;
  };
  static constexpr std::size_t kShortest = 32;
  static constexpr std::size_t kSizeClasses = 8;  // Up to 4 KiB.
  static constexpr std::size_t kMaxHeldBytes = std::size_t{1} << 20;

  [[nodiscard]] static std::size_t SizeClassFor(std::size_t size);
  [[nodiscard]] void* Take(std::size_t size);
  void GiveBack(void* block);
  [[nodiscard]] void* Resize(void* block, std::size_t size);

  std::array<SizeClass, kSizeClasses> size_classes_{};
  nghttp2_mem functions_;
};

}  // namespace sluice::wire

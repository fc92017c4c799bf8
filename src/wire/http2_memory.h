#pragma once

#include <array>
#include <cstddef>

#include <nghttp2/nghttp2.h>

namespace sluice::wire {

/// Memory for the HTTP/2 sessions of one thread, which is used again: each call costs nghttp2 some
/// pieces, all small and soon given back. It must outlive its sessions.
class Http2Memory {
 public:
  Http2Memory();
  ~Http2Memory();
  Http2Memory(const Http2Memory&) = delete;
  Http2Memory& operator=(const Http2Memory&) = delete;

  [[nodiscard]] nghttp2_mem* functions() { return &functions_; }

 private:
  /// The header of each piece. While the piece is free, `next` is another free one.
  struct alignas(std::max_align_t) Head {
    std::size_t room;
    Head* next;
  };
  struct Shelf {
    Head* first = nullptr;
    std::size_t held = 0;
  };
  static constexpr std::size_t kShortest = 32;
  static constexpr std::size_t kShelves = 8;  // Up to 4 KiB.
  static constexpr std::size_t kMostHeldBytes = std::size_t{1} << 20;

  [[nodiscard]] static std::size_t ShelfFor(std::size_t size);
  [[nodiscard]] void* Take(std::size_t size);
  void GiveBack(void* piece);
  [[nodiscard]] void* Resize(void* piece, std::size_t size);

  std::array<Shelf, kShelves> shelves_{};
  nghttp2_mem functions_;
};

}  // namespace sluice::wire

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include <sluice/time.h>

#include "simulate/sampled_call_codec.h"

namespace sluice::simulate {

/// A ring of encoded items in fixed memory: one thread writes, any thread copies.
///
/// Synchronization: positions count words since the beginning; an item lies at [tail, head). The
/// writer moves `tail` past an item before it writes over it, and stores every word with release
/// order. A reader loads words with acquire order and then `tail`: if a word that it loaded was
/// written over, it sees that `tail` has passed it, and drops what it copied before. So the writer
/// never waits, and a reader only ever loses the oldest items.
class TrafficRing {
 public:
  /// Reserves memory for `words`, at least for a few items.
  TrafficRing(std::size_t max_calls, std::size_t words);

  // ---- For the writer.

  [[nodiscard]] bool empty() const { return tail_at_ == head_at_; }
  [[nodiscard]] bool HasRoom(std::size_t words) const {
    return items_ < max_items_ && head_at_ + words - tail_at_ <= capacity_;
  }
  /// Needs HasRoom(item.size()).
  void Append(std::span<const std::uint64_t> item);
  /// Needs an item.
  [[nodiscard]] ItemHead oldest() const;
  void DropOldest();
  /// Drops all items: nothing is known of the time until `now`.
  void Clear(WallTime now);
  void SetLevel(std::uint32_t level) {
    level_.store(level, std::memory_order_relaxed);  // Read only with an empty ring.
  }

  // ---- For any thread.

  struct Copy {
    std::vector<std::uint64_t> words;  ///< Whole items.
    WallTime complete_after{};         ///< Items until then were dropped, some or all.
    std::uint32_t level = 0;           ///< After the last item.
  };
  [[nodiscard]] Copy CopyItems() const;

  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t max_items() const { return max_items_; }

 private:
  struct Free {
    void operator()(std::uint64_t* words) const { std::free(words); }
  };

  void SetTail(std::uint64_t position, WallTime dropped);
  [[nodiscard]] std::atomic_ref<std::uint64_t> Word(std::uint64_t position) const {
    return std::atomic_ref<std::uint64_t>(words_.get()[position % capacity_]);
  }

  const std::size_t capacity_;
  const std::size_t max_items_;
  std::unique_ptr<std::uint64_t[], Free> words_;
  std::size_t items_ = 0;
  std::uint64_t head_at_ = 0;  ///< The writer's own copies.
  std::uint64_t tail_at_ = 0;
  std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> tail_{0};
  std::atomic<std::int64_t> dropped_micros_{0};
  std::atomic<std::uint32_t> level_{0};
};

}  // namespace sluice::simulate

#include "simulate/traffic_ring.h"

#include <algorithm>
#include <new>

namespace sluice::simulate {

TrafficRing::TrafficRing(std::size_t max_calls, std::size_t words)
    : capacity_(std::max(words, 4 * kMaxItemWords)),
      max_items_(std::max<std::size_t>(max_calls, 16)),
      // From calloc, because large blocks of it take no memory until they are written to.
      words_(static_cast<std::uint64_t*>(std::calloc(capacity_, sizeof(std::uint64_t)))) {
  if (!words_) throw std::bad_alloc();
}

void TrafficRing::Append(std::span<const std::uint64_t> item) {
  std::size_t at = head_at_ % capacity_;
  for (const std::uint64_t word : item) {
    // Release: who sees the word sees the tail that made room for it.
    std::atomic_ref<std::uint64_t>(words_[at]).store(word, std::memory_order_release);
    if (++at == capacity_) at = 0;
  }
  head_at_ += item.size();
  ++items_;
  head_.store(head_at_, std::memory_order_release);  // Release: publishes the item.
}

ItemHead TrafficRing::oldest() const {
  // Relaxed: this thread wrote them.
  return DecodeHead(Word(tail_at_).load(std::memory_order_relaxed),
                    Word(tail_at_ + 1).load(std::memory_order_relaxed));
}

void TrafficRing::DropOldest() {
  const ItemHead head = oldest();
  --items_;
  SetTail(tail_at_ + head.words, head.time);
}

void TrafficRing::Clear(WallTime now) {
  items_ = 0;
  SetTail(head_at_, now);
}

void TrafficRing::SetTail(std::uint64_t position, WallTime dropped) {
  tail_at_ = position;
  // Relaxed: published by the tail.
  dropped_micros_.store(dropped.time_since_epoch().count(), std::memory_order_relaxed);
  tail_.store(tail_at_, std::memory_order_release);
}

TrafficRing::Copy TrafficRing::CopyItems() const {
  Copy copy;
  const std::uint64_t begin = tail_.load(std::memory_order_acquire);
  const std::uint64_t end = head_.load(std::memory_order_acquire);
  const std::uint64_t first = std::max(begin, end - std::min<std::uint64_t>(end, capacity_));
  copy.words.resize(static_cast<std::size_t>(end - first));
  std::size_t at = first % capacity_;
  for (std::uint64_t& word : copy.words) {
    // Acquire: the tail is loaded after it.
    word = std::atomic_ref<std::uint64_t>(words_.get()[at]).load(std::memory_order_acquire);
    if (++at == capacity_) at = 0;
  }
  const std::uint64_t tail = std::max(first, tail_.load(std::memory_order_acquire));
  const auto gone = static_cast<std::ptrdiff_t>(std::min(tail, end) - first);
  copy.words.erase(copy.words.begin(), copy.words.begin() + gone);
  copy.complete_after = WallTime(Micros(dropped_micros_.load(std::memory_order_relaxed)));
  copy.level = level_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < copy.words.size();) {
    const ItemHead head = DecodeHead(copy.words[i], copy.words[i + 1]);
    copy.level = head.level_after;
    i += head.words;
  }
  return copy;
}

}  // namespace sluice::simulate

#include "telemetry/space_saving.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/text_hash.h"

namespace sluice::telemetry {
namespace {

constexpr std::size_t kHashDigits = 8;

}  // namespace

void PairText::Set(std::string_view rule, std::string_view tag, std::string_view rest,
                   bool is_secret) {
  rule = rule.substr(0, kMaxRuleBytes);
  char* const begin = std::copy(rule.begin(), rule.end(), bytes_.data());
  char* const end = begin + kMaxKeyBytes;
  char* at = begin;
  const auto append = [&](std::string_view text) {
    at = std::copy_n(text.data(), std::min(text.size(), static_cast<std::size_t>(end - at)), at);
  };
  append(tag);
  if (!rest.empty()) {
    append(":");
    append(rest);
  }
  if (tag.size() + (rest.empty() ? 0 : rest.size() + 1) > kMaxKeyBytes) {
    at = end - kHashDigits - 1;
    *at++ = '~';
    std::uint64_t hash = HashText(rest, HashText(tag));
    for (; at != end; hash >>= 4) *at++ = kHexDigits[hash & 15];
  }
  rule_size_ = static_cast<std::uint8_t>(rule.size());
  key_size_ = static_cast<std::uint8_t>(at - begin);
  is_secret_ = is_secret;
}

SpaceSaving::SpaceSaving()
    : counters_(std::make_unique<Counter[]>(kCounters)),
      texts_(std::make_unique<PairText[]>(kCounters)) {
  index_.fill(kNone);
}

void SpaceSaving::Clear() {
  index_.fill(kNone);
  size_ = 0;
  total_ = 0;
  has_heap_ = false;
}

void SpaceSaving::Assign(const SpaceSaving& other) {
  std::copy_n(other.counters_.get(), other.size_, counters_.get());
  std::copy_n(other.texts_.get(), other.size_, texts_.get());
  size_ = other.size_;
  total_ = other.total_;
  has_heap_ = other.has_heap_;
  index_ = other.index_;
  if (has_heap_) heap_ = other.heap_;
}

// Returns the slot of the item, or the empty one where it belongs.
std::size_t SpaceSaving::FindSlot(std::uint64_t hash) const {
  std::size_t slot = hash % kSlots;
  while (index_[slot] != kNone && counters_[index_[slot]].hash != hash) slot = (slot + 1) % kSlots;
  return slot;
}

// Moves back the items behind it that would no longer be found.
void SpaceSaving::RemoveSlot(std::size_t slot) {
  std::size_t hole = slot;
  for (std::size_t next = (slot + 1) % kSlots; index_[next] != kNone; next = (next + 1) % kSlots) {
    const std::size_t home = counters_[index_[next]].hash % kSlots;
    if ((next - home) % kSlots < (next - hole) % kSlots) continue;
    index_[hole] = index_[next];
    hole = next;
  }
  index_[hole] = kNone;
}

SpaceSaving::Added SpaceSaving::Add(std::uint64_t hash, std::uint64_t amount, double variance) {
  total_ += amount;
  std::size_t slot = FindSlot(hash);
  if (index_[slot] != kNone) {
    Counter& counter = counters_[index_[slot]];
    counter.count += amount;
    counter.variance += variance;
    counter.largest = std::max(counter.largest, amount);
    return {counter, nullptr};
  }
  std::uint16_t number = 0;
  std::uint64_t replaced = 0;
  if (size_ < kCounters) {
    number = static_cast<std::uint16_t>(size_++);
  } else {
    number = TakeSmallest();
    replaced = counters_[number].count;
    RemoveSlot(FindSlot(counters_[number].hash));
    slot = FindSlot(hash);
  }
  index_[slot] = number;
  Counter& counter = counters_[number];
  counter.hash = hash;
  counter.count = replaced + amount;
  counter.error = replaced;
  counter.variance = variance;
  counter.largest = amount;
  return {counter, &texts_[number]};
}

// Entries hold counts of some time ago, which only grow: the top is the smallest if it is current.
std::uint16_t SpaceSaving::TakeSmallest() {
  if (!has_heap_) BuildHeap();
  while (heap_[0].count != counters_[heap_[0].counter].count) {
    heap_[0].count = counters_[heap_[0].counter].count;
    SiftDown(0);
  }
  return heap_[0].counter;
}

void SpaceSaving::BuildHeap() {
  for (std::size_t i = 0; i < kCounters; ++i) {
    heap_[i] = {.count = counters_[i].count, .counter = static_cast<std::uint16_t>(i)};
  }
  for (std::size_t i = kCounters / 2; i-- > 0;) SiftDown(i);
  has_heap_ = true;
}

void SpaceSaving::SiftDown(std::size_t at) {
  const HeapEntry entry = heap_[at];
  while (2 * at + 1 < kCounters) {
    std::size_t child = 2 * at + 1;
    if (child + 1 < kCounters && heap_[child + 1].count < heap_[child].count) ++child;
    if (heap_[child].count >= entry.count) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = entry;
}

std::uint64_t SpaceSaving::MaxAbsent() const {
  if (size_ < kCounters) return 0;
  std::uint64_t smallest = counters_[0].count;
  for (const Counter& counter : counters()) smallest = std::min(smallest, counter.count);
  return smallest;
}

}  // namespace sluice::telemetry

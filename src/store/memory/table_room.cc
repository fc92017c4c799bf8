// The part of the table that makes room: what is counted, what is forgotten, what is refused.

#include <algorithm>
#include <mutex>

#include "store/memory/table.h"

namespace sluice::store {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// How many cells of other segments a new key looks at when its own has none to drop.
constexpr std::size_t kForeignCells = 8192;

}  // namespace

void MemoryStore::Table::CountBytes(Extended& extended) {
  const std::size_t bytes = extended.Bytes();
  // Unsigned, so that a smaller size wraps around and subtracts.
  bytes_.fetch_add(bytes - extended.counted_bytes, kRelaxed);
  extended.counted_bytes = bytes;
}

void MemoryStore::Table::Free(Extended* extended) {
  if (extended == nullptr) return;
  bytes_.fetch_sub(extended->counted_bytes, kRelaxed);
  delete extended;
}

bool MemoryStore::Table::FitsCeiling(std::size_t more_bytes) const {
  return options_.max_bytes == 0 || bytes_.load(kRelaxed) + more_bytes <= options_.max_bytes;
}

bool MemoryStore::Table::EnsureRoom(Segment& segment, const Loaded& loaded, std::uint32_t promised,
                                    WallTime now) {
  const std::size_t heap_bytes = loaded.made || options_.keep_names ? sizeof(Extended) : 0;
  const bool counted =
      keys_.fetch_add(1, kRelaxed) < options_.max_keys || FreeOneAnywhere(segment, now);
  while (counted) {
    const std::uint32_t pages = segment.PagesNeededFor(promised + 1);
    const std::size_t page_bytes = std::size_t{pages} * kBytesPerPage;
    const std::size_t bytes = page_bytes + heap_bytes;
    if (pages != Segment::kNoRoom && (bytes == 0 || FitsCeiling(bytes))) {
      segment.Reserve(promised + 1);
      bytes_.fetch_add(page_bytes, kRelaxed);
      return true;
    }
    if (!FreeOne(segment, now)) break;
  }
  keys_.fetch_sub(1, kRelaxed);
  refused_.fetch_add(1, kRelaxed);
  return false;
}

// Drops the first cell without information that it finds; looks at each cell at most once.
bool MemoryStore::Table::FreeOne(Segment& segment, WallTime now) {
  if (now.time_since_epoch().count() < segment.nothing_fresh_before) return false;
  WallTime earliest = algo::kNever;
  for (std::uint32_t looked = 0; looked < segment.extent(); ++looked) {
    if (++segment.sweep_position >= segment.extent()) segment.sweep_position = 0;
    Cell* cell = segment.at(segment.sweep_position);
    if (cell->empty()) continue;
    const WallTime fresh_at = cell->FreshAt();
    if (fresh_at <= now) {
      Drop(segment, cell);
      expired_.fetch_add(1, kRelaxed);
      return true;
    }
    earliest = std::min(earliest, fresh_at);
  }
  segment.nothing_fresh_before = earliest.time_since_epoch().count();
  return false;
}

bool MemoryStore::Table::FreeOneAnywhere(Segment& own, WallTime now) {
  if (FreeOne(own, now)) return true;
  std::size_t looked = 0;
  for (std::size_t i = 0; i < segment_count_ && looked < kForeignCells; ++i) {
    Segment& other = segments_[free_hand_.fetch_add(1, kRelaxed) % segment_count_];
    // Only tried: this call, or one that waits for it, may hold that lock already.
    if (!other.lock.try_lock()) continue;
    const std::lock_guard lock(other.lock, std::adopt_lock);
    looked += other.extent();
    if (FreeOne(other, now)) return true;
  }
  return false;
}

void MemoryStore::Table::Sweep(Segment& segment, WallTime now, std::uint32_t cells) {
  segment.operations = 0;
  bool dropped = false;
  for (; cells > 0 && segment.count() > 0; --cells) {
    if (segment.sweep_position >= segment.extent()) segment.sweep_position = 0;
    Cell* cell = segment.at(segment.sweep_position);
    if (!cell->empty() && cell->FreshAt() <= now) {
      Drop(segment, cell);  // Its place may hold the next one now.
      expired_.fetch_add(1, kRelaxed);
      dropped = true;
    } else {
      ++segment.sweep_position;
    }
  }
  if (dropped) GiveBackPages(segment);
}

void MemoryStore::Table::GiveBackPages(Segment& segment) {
  bytes_.fetch_sub(std::size_t{segment.Shrink()} * kBytesPerPage, kRelaxed);
}

void MemoryStore::Table::Drop(Segment& segment, Cell* cell) {
  Free(cell->extended());
  segment.Remove(cell);
  keys_.fetch_sub(1, kRelaxed);
}

}  // namespace sluice::store

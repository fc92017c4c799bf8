#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/key_hash.h"
#include "base/spin_lock.h"
#include "store/memory/packed_state.h"

namespace sluice::store {

/// A number that is written under a lock. Readers without the lock get a value that may be stale.
template <typename T>
class Hint {
 public:
  // Relaxed: unlocked readers accept stale values, and holders of the lock are ordered by it.
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for the number.
  operator T() const { return value_.load(std::memory_order_relaxed); }
  void operator=(T value) { value_.store(value, std::memory_order_relaxed); }

 private:
  std::atomic<T> value_{0};
};

/// A part of the table: cells sorted by hash, with linear probing, in a reserved range of address
/// space of which only the used pages are resident.
///
/// A cell's home is its hash scaled to `homes_`. The cell is at its home or above, without empty
/// cells in between. One byte per home has the offset of its first cell, so that a lookup reads one
/// or two cache lines, however full the segment is.
///
/// Homes rise with the hash, so the segment grows in place, a few cells at a time: cells at or
/// above `boundary_` have moved to their homes in the larger range, the others have not.
///
/// Callers must hold `lock`, except for prefetching. Insert and Remove invalidate pointers to
/// cells.
class alignas(64) Segment {
 public:
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::uint32_t kPageCells = kPageBytes / sizeof(Cell);
  /// Maximum number of cells that an Insert moves while the segment grows.
  static constexpr std::uint32_t kMovesPerInsert = 32;
  /// Cells above the last home, for overflow.
  static constexpr std::uint32_t kTail = 32;

  /// `cells` points to `max_cells` zeroed cells (at least two pages; the last page is a reserve).
  /// All keys of this segment share the first `skip_bits` bits of the hash. `pushed` points to one
  /// zeroed byte per cell, in chunks of kPageCells bytes with a stride of kPageCells · 2^skip_bits.
  void Init(Cell* cells, std::uint8_t* pushed, std::uint32_t max_cells, int skip_bits);

  /// Prefetch for a later Find; need no lock. First the byte with the offset of the key's cells,
  /// then the cells.
  [[nodiscard]] std::uint32_t PrefetchHome(const KeyHash& hash) const {
    const std::uint32_t home = Home(hash.high);
    __builtin_prefetch(PushedAt(home), 1);
    return home;
  }
  void PrefetchCells(std::uint32_t home) const {
    const Cell* first = cells_ + home + PushedOf(home);
    __builtin_prefetch(first, 1);
    __builtin_prefetch(first + 1, 1);
  }

  /// Returns the cell of a key, or nullptr.
  [[nodiscard]] Cell* Find(const KeyHash& hash) const;

  /// Returns the number of further pages that must be resident for `more` inserts; kNoRoom if the
  /// range is too small.
  [[nodiscard]] std::uint32_t PagesNeededFor(std::uint32_t more) const;
  static constexpr std::uint32_t kNoRoom = UINT32_MAX;

  /// Reserves `more` cells: as many inserts can't fail.
  void Reserve(std::uint32_t more);

  /// Inserts the cell of an absent key. Precondition: reserved. In rare cases uses one page more
  /// than reserved.
  void Insert(const Cell& cell);

  void Remove(Cell* cell);

  /// Releases the memory of a nearly empty segment. Returns the number of released pages.
  std::uint32_t Shrink();

  /// Cells by position, for iteration: positions below extent(); some are empty.
  [[nodiscard]] std::uint32_t extent() const { return extent_pages_ * kPageCells; }
  [[nodiscard]] Cell* at(std::uint32_t position) const { return cells_ + position; }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint32_t pages() const { return extent_pages_; }

  SpinLock lock;

  /// Position at which the next sweep continues.
  std::uint32_t sweep_position = 0;
  /// No cell is fresh before this time (in µs).
  std::int64_t nothing_fresh_before = 0;
  /// Operations since the last sweep step.
  std::uint16_t operations = 0;

 private:
  [[nodiscard]] std::uint32_t Home(std::uint64_t order) const;
  [[nodiscard]] std::uint32_t HomeIn(std::uint64_t order, std::uint32_t homes) const;
  [[nodiscard]] std::uint32_t ExtentFor(std::uint32_t cells) const;
  void Place(const Cell& cell);
  void Grow(std::uint32_t wanted);
  void Lengthen();
  void Move(std::uint32_t cells);
  [[nodiscard]] bool growing() const { return old_homes_ != 0; }
  [[nodiscard]] std::uint32_t max_cells() const { return max_pages_ * kPageCells; }
  [[nodiscard]] Cell* FirstOf(std::uint32_t home) const;
  void PushUp(std::uint32_t home, const Cell* gap);
  void PullDown(std::uint32_t home, const Cell* gap);

  /// Value of a home's byte if the offset does not fit: its cells are found by search.
  static constexpr std::uint8_t kLost = 255;

  // The bytes of all segments' first pages are adjacent, then those of their second pages, and so
  // on: unused bytes share no memory page with used ones.
  [[nodiscard]] std::uint8_t* PushedAt(std::uint32_t home) const {
    const std::size_t page = home / kPageCells;
    return pushed_ + (page * kPageCells << skip_bits_) + home % kPageCells;
  }
  // Relaxed: PrefetchCells reads it without the lock and accepts stale values.
  [[nodiscard]] std::uint8_t PushedOf(std::uint32_t home) const {
    return std::atomic_ref(*PushedAt(home)).load(std::memory_order_relaxed);
  }
  void SetPushed(std::uint32_t home, std::uint8_t pushed) {
    std::atomic_ref(*PushedAt(home)).store(pushed, std::memory_order_relaxed);
  }

  std::uint8_t skip_bits_ = 0;
  std::uint16_t max_pages_ = 0;     ///< Maximum size, without the reserve page.
  std::uint16_t extent_pages_ = 0;  ///< Pages in use or ready for it.
  Cell* cells_ = nullptr;
  std::uint8_t* pushed_ = nullptr;
  Hint<std::uint64_t> boundary_;     ///< While growing: the lowest hash that has moved.
  Hint<std::uint32_t> homes_;        ///< The range of homes; a little less than the extent.
  Hint<std::uint32_t> old_homes_;    ///< While growing: the previous range; else 0.
  std::uint32_t move_position_ = 0;  ///< While growing: cells that have not moved are below.
  std::uint32_t count_ = 0;
};

static_assert(sizeof(Segment) == 64);

inline std::uint32_t Segment::HomeIn(std::uint64_t order, std::uint32_t homes) const {
  // The hash has 61 bits; those that all keys here share are shifted out.
  const std::uint64_t share = order << (3 + skip_bits_);
  __extension__ using UWide = unsigned __int128;
  return static_cast<std::uint32_t>((UWide{share} * homes) >> 64);
}

inline std::uint32_t Segment::Home(std::uint64_t order) const {
  return HomeIn(order, growing() && order < boundary_ ? old_homes_ : homes_);
}

// Returns the first cell of a home, or where it would be: cells below have lower homes.
inline Cell* Segment::FirstOf(std::uint32_t home) const {
  Cell* cell = cells_ + home + PushedOf(home);
  if (PushedOf(home) != kLost) return cell;
  for (cell = cells_ + home; !cell->empty() && Home(cell->order()) < home;) ++cell;
  return cell;
}

inline Cell* Segment::Find(const KeyHash& hash) const {
  if (count_ == 0) return nullptr;
  const Cell* const end = cells_ + extent();
  for (Cell* cell = FirstOf(Home(hash.high)); cell < end; ++cell) {
    if (cell->Is(hash)) return cell;
    if (cell->empty() || cell->order() > hash.high) return nullptr;
  }
  return nullptr;
}

}  // namespace sluice::store

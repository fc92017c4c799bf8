#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/key_hash.h"
#include "base/spin_lock.h"
#include "store/memory/packed_state.h"

namespace sluice::store {

/// A number that is written under a lock and may be read without it by those who only guess.
template <typename T>
class Hint {
 public:
  // Relaxed, because a guess needs no more, and those who hold the lock are ordered by it.
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for the number.
  operator T() const { return value_.load(std::memory_order_relaxed); }
  void operator=(T value) { value_.store(value, std::memory_order_relaxed); }

 private:
  std::atomic<T> value_{0};
};

/// A part of the table: cells in the order of their hashes, by linear probing, in a range of
/// address space that is all its own and of which only the used pages are resident.
///
/// A cell's home is its hash's share of `homes_`; it lies there or above, with nothing empty in
/// between. A byte for each home says how far up its cells begin, so that a look-up reads one cache
/// line of cells, or two, however full the segment is.
///
/// Because homes rise with the hash, the segment grows in place and a few cells at a time: cells
/// from `boundary_` on have moved to their homes in the larger range, those below have not.
///
/// Callers hold `lock` for everything but prefetching. Pointers to cells are good until the next
/// Insert or Remove.
class alignas(64) Segment {
 public:
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::uint32_t kPageCells = kPageBytes / sizeof(Cell);
  /// How many cells an Insert moves at most while the segment grows.
  static constexpr std::uint32_t kMovesPerInsert = 32;
  /// Room above the last home, for cells that were pushed up.
  static constexpr std::uint32_t kTail = 32;

  /// `cells` points to `max_cells` zeroed cells, two pages or more, of which the last page is used
  /// only in need; `skip_bits` of a hash are the same for all keys of this segment, which is one of
  /// 2^skip_bits. `pushed` points to as many zeroed bytes, in pieces of kPageCells that lie
  /// kPageCells · 2^skip_bits apart.
  void Init(Cell* cells, std::uint8_t* pushed, std::uint32_t max_cells, int skip_bits);

  /// These need no lock: they only guess. Ask first for the byte that says where the key's cells
  /// are, and once it is there for the cells.
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

  /// nullptr if absent.
  [[nodiscard]] Cell* Find(const KeyHash& hash) const;

  /// How many more pages must be resident before `more` cells can be inserted for sure.
  /// kNoRoom if the range is too small for them.
  [[nodiscard]] std::uint32_t PagesNeededFor(std::uint32_t more) const;
  static constexpr std::uint32_t kNoRoom = UINT32_MAX;

  /// Makes room for `more` cells; for them, Insert can't fail afterwards.
  void Reserve(std::uint32_t more);

  /// Puts `cell`, whose key is absent, in its place. Room must be reserved. Rarely it takes a page
  /// more than that.
  void Insert(const Cell& cell);

  void Remove(Cell* cell);

  /// Gives back memory if next to nothing is left in it. Returns the pages given back.
  std::uint32_t Shrink();

  /// The cells by position, for walks: positions below extent(), some of them empty.
  [[nodiscard]] std::uint32_t extent() const { return extent_pages_ * kPageCells; }
  [[nodiscard]] Cell* at(std::uint32_t position) const { return cells_ + position; }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint32_t pages() const { return extent_pages_; }

  SpinLock lock;

  /// Where the sweep for cells without information goes on.
  std::uint32_t sweep_position = 0;
  /// No cell is without information before this time (in µs).
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

  /// Past this many cells a home's byte has no information, and its cells are searched.
  static constexpr std::uint8_t kLost = 255;

  // The bytes of all segments' first pages lie together, then those of their second pages, and so
  // on: what a segment does not use yet shares no page of memory with what it uses.
  [[nodiscard]] std::uint8_t* PushedAt(std::uint32_t home) const {
    const std::size_t page = home / kPageCells;
    return pushed_ + (page * kPageCells << skip_bits_) + home % kPageCells;
  }
  // Relaxed, because PrefetchCells reads it without the lock, and guesses.
  [[nodiscard]] std::uint8_t PushedOf(std::uint32_t home) const {
    return std::atomic_ref(*PushedAt(home)).load(std::memory_order_relaxed);
  }
  void SetPushed(std::uint32_t home, std::uint8_t pushed) {
    std::atomic_ref(*PushedAt(home)).store(pushed, std::memory_order_relaxed);
  }

  std::uint8_t skip_bits_ = 0;
  std::uint16_t max_pages_ = 0;     ///< As far as it grows; there is one page more.
  std::uint16_t extent_pages_ = 0;  ///< Pages in use or ready for it.
  Cell* cells_ = nullptr;
  std::uint8_t* pushed_ = nullptr;
  Hint<std::uint64_t> boundary_;     ///< While growing: the lowest hash that has moved.
  Hint<std::uint32_t> homes_;        ///< The range of homes; a little less than the extent.
  Hint<std::uint32_t> old_homes_;    ///< While growing: the range before; else 0.
  std::uint32_t move_position_ = 0;  ///< While growing: all cells yet to move lie below.
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

// Where the cells of a home begin, or would: below it are only cells of lower homes.
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

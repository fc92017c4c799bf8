#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/key_hash.h"
#include "base/spin_lock.h"
#include "store/memory/packed_state.h"

namespace sluice::store {

/// A part of the table: cells in the order of their hashes, by linear probing, in a range of
/// address space that is all its own and of which only the used pages are resident.
///
/// A cell's home is its hash's share of `homes_`; it lies there or above, with nothing empty in
/// between. Because homes rise with the hash, the segment grows in place and a few cells at a time:
/// cells from `boundary_` on have moved to their homes in the larger range, those below have not.
///
/// Callers hold `lock` for everything but Prefetch. Pointers to cells are good until the next
/// Insert or Remove.
class alignas(64) Segment {
 public:
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::uint32_t kPageCells = kPageBytes / sizeof(Cell);
  /// How many cells an Insert moves at most while the segment grows.
  static constexpr std::uint32_t kMovesPerInsert = 24;

  /// `cells` points to `max_cells` zeroed cells; `skip_bits` of a hash are the same for all keys
  /// of this segment.
  void Init(Cell* cells, std::uint32_t max_cells, int skip_bits);

  void Prefetch(const KeyHash& hash) const;

  /// nullptr if absent.
  [[nodiscard]] Cell* Find(const KeyHash& hash) const;

  /// How many more pages must be resident before `more` cells can be inserted for sure.
  /// kNoRoom if the range is too small for them.
  [[nodiscard]] std::uint32_t PagesNeededFor(std::uint32_t more) const;
  static constexpr std::uint32_t kNoRoom = UINT32_MAX;

  /// Makes room for `more` cells; for them, Insert can't fail afterwards.
  void Reserve(std::uint32_t more);

  /// Puts `cell`, whose key is absent, in its place. Room must be reserved.
  void Insert(const Cell& cell);

  void Remove(Cell* cell);

  /// Gives back memory if next to nothing is left in it. Returns the pages given back.
  std::uint32_t Shrink();

  /// The cells by position, for walks: positions below extent(), some of them empty.
  [[nodiscard]] std::uint32_t extent() const { return extent_; }
  [[nodiscard]] Cell* at(std::uint32_t position) const { return cells_ + position; }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint32_t pages() const { return extent_ / kPageCells; }

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
  void Grow(std::uint32_t extent);
  void Move(std::uint32_t cells);
  [[nodiscard]] bool growing() const { return old_homes_ != 0; }
  // Relaxed, because only Prefetch reads it without the lock, and needs no more than a hint.
  [[nodiscard]] std::uint32_t homes() const { return homes_.load(std::memory_order_relaxed); }

  std::uint8_t skip_bits_ = 0;
  Cell* cells_ = nullptr;
  std::uint64_t boundary_ = 0;     ///< While growing: the lowest hash that has moved.
  std::uint32_t max_cells_ = 0;
  std::uint32_t extent_ = 0;       ///< Cells in use or ready for it: whole pages.
  std::atomic<std::uint32_t> homes_{0};  ///< The range of homes; a little less than extent_.
  std::uint32_t old_homes_ = 0;    ///< While growing: the range before; else 0.
  std::uint32_t move_position_ = 0;  ///< While growing: all cells yet to move lie below.
  std::uint32_t count_ = 0;
};

static_assert(sizeof(Segment) == 64);

}  // namespace sluice::store

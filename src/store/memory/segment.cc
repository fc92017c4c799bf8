#include "store/memory/segment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

#include <sys/mman.h>

namespace sluice::store {
namespace {

// Maximum load in percent: above it probe sequences get long, below it memory is wasted.
constexpr std::uint32_t kMaxLoad = 90;
// Growing by a sixteenth keeps it at least 85 % full.
constexpr std::uint32_t kGrowthDivisor = 16;

// Load below which a segment releases memory.
constexpr std::uint32_t kShrinkDivisor = 8;
// Maximum number of cells with equal hashes.
constexpr std::size_t kMaxTwins = 8;

constexpr std::uint32_t HomesIn(std::uint32_t extent) { return extent - Segment::kTail; }

constexpr std::uint32_t CellsIn(std::uint32_t extent) {
  return static_cast<std::uint32_t>(std::uint64_t{HomesIn(extent)} * kMaxLoad / 100);
}

constexpr std::uint32_t WholePages(std::uint32_t cells) {
  return (cells + Segment::kPageCells - 1) / Segment::kPageCells * Segment::kPageCells;
}

}  // namespace

void Segment::Init(Cell* cells, std::uint8_t* pushed, std::uint32_t max_cells, int skip_bits) {
  cells_ = cells;
  pushed_ = pushed;
  max_pages_ = static_cast<std::uint16_t>(max_cells / kPageCells - 1);
  skip_bits_ = static_cast<std::uint8_t>(skip_bits);
}

std::uint32_t Segment::ExtentFor(std::uint32_t cells) const {
  std::uint32_t wanted = std::max(extent(), kPageCells);
  while (wanted < max_cells() && CellsIn(wanted) < cells) {
    wanted = std::min(wanted + WholePages(wanted / kGrowthDivisor), max_cells());
  }
  return wanted;
}

std::uint32_t Segment::PagesNeededFor(std::uint32_t more) const {
  std::uint32_t wanted = ExtentFor(count_ + more);
  if (wanted == extent()) {
    // An Insert lengthens the last run by at most one cell, so these empty cells catch all.
    const Cell* const end = cells_ + extent();
    const bool tail_is_free =
        more <= extent() &&
        std::all_of(end - more, end, [](const Cell& cell) { return cell.empty(); });
    if (tail_is_free) return 0;
    wanted = ExtentFor(CellsIn(wanted) + 1);
  }
  if (wanted == extent() || CellsIn(wanted) < count_ + more) return kNoRoom;
  return (wanted - extent()) / kPageCells;
}

void Segment::Reserve(std::uint32_t more) {
  const std::uint32_t pages = PagesNeededFor(more);
  if (pages > 0) Grow(extent() + pages * kPageCells);
}

void Segment::Grow(std::uint32_t wanted) {
  Move(UINT32_MAX);
  old_homes_ = count_ > 0 ? homes_ : 0U;
  boundary_ = UINT64_MAX;
  move_position_ = extent();
  extent_pages_ = static_cast<std::uint16_t>(std::max(extent(), wanted) / kPageCells);
  homes_ = HomesIn(wanted);
}

// By chance, if rarely, the last run gets longer than the tail while cells move.
void Segment::Lengthen() {
  if (extent() > max_cells()) std::abort();  // A run of more than a page beyond it: not by chance.
  ++extent_pages_;
}

// From the highest hash downwards, so that a moved cell never overwrites one that has not moved
// yet.
void Segment::Move(std::uint32_t cells) {
  while (growing() && cells > 0) {
    if (move_position_ == 0) {
      old_homes_ = 0;
      return;
    }
    Cell* last = cells_ + --move_position_;
    if (last->empty() || last->order() >= boundary_) continue;
    // Cells with one hash (their low halves differ) move together: `boundary_` can't part them.
    const std::uint64_t order = last->order();
    std::array<Cell, kMaxTwins> twins;
    std::size_t count = 0;
    for (Cell* cell = last; cell >= cells_ && !cell->empty() && cell->order() == order; --cell) {
      if (count == twins.size()) std::abort();  // Eight equal 61-bit hashes: not by chance.
      twins[count++] = *cell;
      Remove(cell);
    }
    boundary_ = order;
    for (std::size_t i = 0; i < count; ++i) Place(twins[i]);
    --cells;
  }
}

void Segment::Insert(const Cell& cell) {
  Place(cell);
  Move(kMovesPerInsert);
}

void Segment::Place(const Cell& cell) {
  const std::uint32_t home = Home(cell.order());
  Cell* place = FirstOf(home);
  while (!place->empty() && place->order() < cell.order()) ++place;
  Cell* gap = place;
  while (gap != cells_ + extent() && !gap->empty()) ++gap;
  if (gap == cells_ + extent()) Lengthen();
  std::memmove(static_cast<void*>(place + 1), place,
               static_cast<std::size_t>(gap - place) * sizeof(Cell));
  *place = cell;
  PushUp(home, gap);
  ++count_;
  // Cells that have not moved yet were pushed up by at most one.
  if (growing() && cell.order() < boundary_ && gap - cells_ >= move_position_) ++move_position_;
}

void Segment::Remove(Cell* cell) {
  const std::uint32_t home = Home(cell->order());
  const Cell* end = cells_ + extent();
  Cell* gap = cell;
  for (Cell* next = gap + 1; next != end && !next->empty() && next != cells_ + Home(next->order());
       ++next) {
    *gap = *next;
    gap = next;
  }
  *gap = Cell{};
  PullDown(home, gap);
  --count_;
}

// After an insert at `home` that filled `gap`: the cells of all homes in between start one further
// up.
void Segment::PushUp(std::uint32_t home, const Cell* gap) {
  const auto last = static_cast<std::uint32_t>(gap - cells_);
  for (std::uint32_t next = home + 1; next <= last; ++next) {
    const std::uint8_t pushed = PushedOf(next);
    if (pushed != kLost) SetPushed(next, static_cast<std::uint8_t>(pushed + 1));
  }
}

// After a removal at `home` that left `gap`: the cells of all homes in between start one further
// down. kLost stays, because the offset is unknown.
void Segment::PullDown(std::uint32_t home, const Cell* gap) {
  const auto last = static_cast<std::uint32_t>(gap - cells_);
  for (std::uint32_t next = home + 1; next <= last; ++next) {
    const std::uint8_t pushed = PushedOf(next);
    if (pushed != kLost) SetPushed(next, static_cast<std::uint8_t>(pushed - 1));
  }
}

std::uint32_t Segment::Shrink() {
  const std::uint32_t pages_before = pages();
  if (pages_before <= 1 || count_ > CellsIn(extent()) / kShrinkDivisor) return 0;
  std::vector<Cell> kept;
  kept.reserve(count_);
  std::copy_if(cells_, cells_ + extent(), std::back_inserter(kept),
               [](const Cell& cell) { return !cell.empty(); });
  // Released pages read as zeros; if the kernel can't release them (larger pages), they are zeroed
  // here.
  if (madvise(cells_, extent() * sizeof(Cell), MADV_DONTNEED) != 0) {
    std::fill(cells_, cells_ + extent(), Cell{});
  }
  for (std::uint32_t home = 0; home < extent(); ++home) SetPushed(home, 0);
  extent_pages_ = 0;
  count_ = 0;
  old_homes_ = 0;
  sweep_position = 0;
  if (kept.empty()) {
    homes_ = 0;
    return pages_before;
  }
  Grow(ExtentFor(2 * static_cast<std::uint32_t>(kept.size())));
  for (const Cell& cell : kept) Place(cell);
  return pages_before - pages();
}

}  // namespace sluice::store

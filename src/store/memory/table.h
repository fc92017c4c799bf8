#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/key_hash.h"
#include "store/decide.h"
#include "store/memory/memory_store.h"
#include "store/memory/packed_state.h"
#include "store/memory/segment.h"

namespace sluice::store {

/// All keys: many segments, each with its own lock and its own part of the hashes. A call takes the
/// locks of its segments in the order of their places, so that no two calls wait for each other.
class MemoryStore::Table {
 public:
  static Result<std::unique_ptr<Table>> Create(const MemoryStoreOptions& options);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  [[nodiscard]] KeyHash HashOf(const Key& key) const { return hasher_(key); }

  /// How many plain checks have their cache misses under way at once.
  static constexpr std::size_t kBatch = 16;

  /// Answer calls that were not refused: one of one limit, one of several, and up to kBatch calls
  /// that are plain checks.
  void RunOne(Call& call, const KeyHash& hash);
  void RunSeveral(Call& call);
  void RunPlainChecks(std::span<Call* const> calls);

  void Walk(WallTime now, const std::function<bool(const KeyState&)>& visit) const;
  [[nodiscard]] MemoryStoreStats StatsApprox() const;

 private:
  /// A key's state, taken out of the table for the time of a call.
  struct Loaded {
    Subject subject;
    /// For a key that needs one and has none in the table yet.
    std::unique_ptr<Extended> made;
    bool present = false;
    bool clock_set_back = false;
    /// The cell was written under other numbers.
    bool converted = false;
  };

  /// Where a key is, or would be, in the table.
  struct Place {
    Segment& segment;
    KeyHash hash;
    Cell* cell;  ///< nullptr if absent.
  };

  /// One use of a call over several limits.
  struct Part {
    KeyHash hash{};
    Segment* segment = nullptr;
    Part* shared_with = nullptr;  ///< An earlier use of the same key, whose `loaded` is used.
    bool reserved = false;
    Loaded loaded;
  };

  Table(const MemoryStoreOptions& options, Cell* cells, std::size_t cell_count,
        std::size_t segment_count, std::uint32_t segment_cells);

  [[nodiscard]] Segment& SegmentOf(const KeyHash& hash) const {
    return segments_[hash.high >> segment_shift_];
  }

  void RunIn(Segment& segment, Call& call, const KeyHash& hash);
  /// Any operation on one key.
  void RunAlone(Call& call, const Place& place);
  void RunParts(Call& call, std::span<Part> parts);
  static Place PlaceOf(const Part& part) {
    return {*part.segment, part.hash, part.segment->Find(part.hash)};
  }
  Place PlaceForCall(const Call& call, const Part& part);
  void RunLocked(Call& call, std::span<Part> parts);
  bool ReserveFor(std::span<Part> parts, WallTime now);
  void Forget(Call& call, Use& use, const Place& place);
  void Inspect(const Call& call, Use& use, const Cell* cell) const;

  void Load(const Cell* cell, const Limit& limit, WallTime now, Loaded& loaded) const;
  /// False if there is no room for a new key. `reserved`: there is, and it is counted already.
  bool WriteBack(const Call& call, const Use& use, const Place& place, Loaded& loaded,
                 bool reserved);
  void Overwrite(Cell& cell, const KeyHash& hash, const Use& use, Loaded& loaded);
  std::unique_ptr<Extended> Extend(const Use& use, Loaded& loaded);

  /// Puts the bytes that `extended` occupies now into the sum.
  void CountBytes(Extended& extended);
  void Free(Extended* extended);

  /// Room for one key more, counted in `keys_`, beside `promised` others that are not inserted yet.
  /// Forgets only what holds no information. False if that is not enough.
  bool EnsureRoom(Segment& segment, const Loaded& loaded, std::uint32_t promised, WallTime now);
  bool FreeOne(Segment& segment, WallTime now);
  bool FreeOneAnywhere(Segment& own, WallTime now);
  /// Counts an operation; every so many of them, a few cells are swept.
  void SweepIfDue(Segment& segment, WallTime now);
  void Sweep(Segment& segment, WallTime now, std::uint32_t cells);
  void GiveBackPages(Segment& segment);
  void Drop(Segment& segment, Cell* cell);
  [[nodiscard]] KeyState Describe(const Cell& cell, WallTime now) const;
  [[nodiscard]] std::uint64_t IdOf(const Cell& cell) const;
  [[nodiscard]] bool FitsCeiling(std::size_t more_bytes) const;

  /// A cell, and the byte that says how far up the cells of its place's home begin.
  static constexpr std::size_t kBytesPerCell = sizeof(Cell) + 1;
  static constexpr std::size_t kBytesPerPage = Segment::kPageCells * kBytesPerCell;

  const MemoryStoreOptions options_;
  const KeyHasher hasher_;
  const KeyHasher id_hasher_;
  Cell* const cells_;
  const std::size_t cell_count_;
  const std::size_t segment_count_;
  const int segment_shift_;
  const std::unique_ptr<Segment[]> segments_;

  // Counted with relaxed order: each is a number by itself, and guards nothing else.
  std::atomic<std::size_t> keys_{0};
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::uint64_t> expired_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::size_t> free_hand_{0};  ///< Which segment to look into next for a key to drop.
};

}  // namespace sluice::store

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/key_hash.h"
#include "store/decide.h"
#include "store/memory/memory_store.h"
#include "store/memory/packed_state.h"
#include "store/memory/segment.h"
#include "store/memory/settlement_marks.h"

namespace sluice::store {

/// All keys of a memory store, in segments by hash, each with its own lock. A call takes the locks
/// of its segments in ascending order, which prevents deadlocks.
class MemoryStore::Table {
 public:
  static Result<std::unique_ptr<Table>> Create(const MemoryStoreOptions& options);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  [[nodiscard]] KeyHasher::Prefix HashScope(std::string_view scope) const {
    return hasher_.HashScope(scope);
  }
  [[nodiscard]] KeyHash HashOf(const Key& key) const { return hasher_(key); }
  [[nodiscard]] KeyHash HashOf(const KeyHasher::Prefix& prefix, const Key& key) const {
    return hasher_(prefix, key);
  }

  /// Number of plain checks whose cache misses overlap.
  static constexpr std::size_t kBatch = 16;

  /// Run valid calls: one with one key, one with several, up to kBatch plain checks.
  void RunOne(StoreCall& call, const KeyHash& hash);
  void RunSeveral(StoreCall& call);
  void RunPlainChecks(std::span<StoreCall* const> calls);
  void CheckBucket(const KeyHasher::Prefix* prefix, const Key& key, BucketCheck& check);
  void CheckBuckets(const KeyHasher::Prefix* prefix, std::span<const Key> keys,
                    std::span<BucketCheck> checks);

  [[nodiscard]] bool IsLive(const Key& key, WallTime now) const;
  void Walk(WallTime now, const std::function<bool(const KeyState&)>& visit) const;
  [[nodiscard]] MemoryStoreStats StatsApprox() const;

 private:
  /// A key's state, copied out of the table for the duration of a call.
  struct Loaded {
    EvaluatedKey subject;
    /// New extended state of a key that had none.
    std::unique_ptr<ExtendedState> made;
    ExtendedState* held = nullptr;  ///< The cell's extended state, if any.
    bool present = false;
    /// From the cell if present, else from the use.
    bool from_caller = false;
    bool counted = false;        ///< A new key for which Reserve counted a cell.
    std::size_t heap_bytes = 0;  ///< Counted by Reserve for heap memory that WriteBack needs.
    bool clock_set_back = false;
    /// The cell was written under different limit numbers.
    bool converted = false;
  };

  /// The position of a key in the table.
  struct Place {
    Segment& segment;
    KeyHash hash;
    Cell* cell;  ///< nullptr if absent.
  };

  /// The target of one check in a batch.
  struct Aim {
    Segment* segment;
    KeyHash hash;
    std::uint32_t home;
  };
  template <typename HashAt, typename Aims>
  void Prefetch(std::size_t count, const HashAt& hash_at, Aims& aims) const;

  /// One use of a call with several keys.
  struct Part {
    KeyHash hash{};
    Segment* segment = nullptr;
    Part* shared_with = nullptr;  ///< An earlier use of the same key, which owns the state.
    bool no_room = false;
    Loaded loaded;
  };

  Table(const MemoryStoreOptions& options, Cell* cells, std::size_t cell_count,
        std::size_t segment_count, std::uint32_t segment_cells);

  [[nodiscard]] Segment& SegmentOf(const KeyHash& hash) const {
    return segments_[hash.high >> segment_shift_];
  }

  void RunIn(Segment& segment, StoreCall& call, const KeyHash& hash);
  void CheckBucketIn(Segment& segment, KeyHash hash, BucketCheck& check);
  void CheckBucketOf(KeyHash hash, BucketCheck& check);
  void CheckBucketByAes(const KeyHasher::Prefix& prefix, const Key& key, BucketCheck& check);
  /// Runs any operation on one key.
  void RunAlone(StoreCall& call, const Place& place);
  bool CheckedSeveralInPlace(StoreCall& call);
  void RunParts(StoreCall& call, std::span<Part> parts);
  static Place PlaceOf(const Part& part) {
    return {*part.segment, part.hash, part.segment->Find(part.hash)};
  }
  Place PlaceForCall(const StoreCall& call, const Part& part);
  void RunLocked(StoreCall& call, std::span<Part> parts);
  /// Reserves memory for everything that the call may add, before it consumes anything. Returns
  /// false, and reserves nothing, if there is not enough; marks the uses without room.
  bool ReserveFor(StoreCall& call, std::span<Part> parts);
  /// Finishes a call without room: with a denial, which needs no memory, or kStoreFull.
  /// `clock_set_back`: a denial would have to be written, too.
  void AnswerWithoutRoom(StoreCall& call, std::span<EvaluatedKey* const> subjects,
                         bool clock_set_back);
  void Forget(StoreCall& call, KeyUse& use, const Place& place);
  void Inspect(const StoreCall& call, KeyUse& use, const Cell* cell) const;

  /// Bytes of settlement marks by kind of key.
  struct MarkBytes {
    std::size_t ordinary = 0;
    std::size_t from_caller = 0;
  };
  /// Reserves memory for marks of receipts that were not settled before. `bytes` stay counted until
  /// MarkSettled has counted the real size. Returns false if there is no room; `call` has the
  /// error.
  bool ReserveMarks(StoreCall& call, std::span<const Part> parts, MarkBytes& bytes);
  /// Marks settlements as repeated if their receipt was settled before, and remembers the others.
  void MarkSettled(StoreCall& call, std::span<const Part> parts);
  void Uncharge(const MarkBytes& bytes) {
    Uncharge(KeyKind::kOrdinary, bytes.ordinary);
    Uncharge(KeyKind::kFromCaller, bytes.from_caller);
  }
  [[nodiscard]] std::unique_ptr<SettlementMarks>& MarksOf(const Segment& segment, KeyKind kind) {
    const auto index = static_cast<std::size_t>(&segment - segments_.get());
    return marks_[2 * index + (kind == KeyKind::kFromCaller ? 1 : 0)];
  }
  void SweepMarks(const Segment& segment, WallTime now);
  /// Updates the totals for marks that occupied `before` bytes; frees empty marks.
  void CountMarks(std::unique_ptr<SettlementMarks>& marks, KeyKind kind, std::size_t before);

  void Load(const Cell* cell, const KeyUse& use, WallTime now, Loaded& loaded) const;
  /// Writes a key's state to the table. Precondition: reserved.
  void WriteBack(const StoreCall& call, const KeyUse& use, const Place& place, Loaded& loaded);
  void Overwrite(Cell& cell, const KeyHash& hash, const KeyUse& use, Loaded& loaded);
  std::unique_ptr<ExtendedState> Extend(const KeyUse& use, Loaded& loaded);

  /// Updates the total for the current size of `extended`.
  void CountBytes(ExtendedState& extended);
  void Free(ExtendedState* extended);

  /// Maximum growth of one key by a call: one history entry per use, `cost` in total.
  struct Demand {
    std::size_t uses = 1;
    std::int64_t cost = 0;
  };
  /// Returns true if the call can't need memory for this key, which is the usual case for present
  /// keys.
  [[nodiscard]] bool NeedsNoRoom(const StoreCall& call, const KeyUse& use,
                                 const Loaded& loaded) const {
    if (call.operation == Operation::kPeek) return true;
    return loaded.present && call.operation == Operation::kCheck && loaded.held == nullptr &&
           loaded.made == nullptr && use.limit->shape() != 0 &&
           use.limit->algorithm() != Algorithm::kSlidingWindowCounter && !options_.keep_names;
  }
  /// Reserves memory for a call, in addition to `promised` new keys that are not inserted yet: a
  /// cell, counted in `keys_`, and bytes, counted in `bytes_`. Drops fresh keys if necessary.
  /// Returns false, and counts nothing, if there is not enough.
  bool Reserve(const StoreCall& call, const KeyUse& use, Segment& segment, Loaded& loaded,
               const Demand& demand, std::uint32_t promised);
  /// Releases reservations that WriteBack did not use.
  void Unreserve(Loaded& loaded) {
    if (loaded.counted || loaded.heap_bytes != 0) TakeBack(loaded);
  }
  void TakeBack(Loaded& loaded);
  bool ReserveCell(KeyKind kind, Segment& segment, std::uint32_t promised, WallTime now);
  bool ReserveHeap(const StoreCall& call, const KeyUse& use, Segment& segment, Loaded& loaded,
                   const Demand& demand);
  /// Maximum heap memory that WriteBack adds.
  [[nodiscard]] std::size_t HeapNeeded(const StoreCall& call, const KeyUse& use,
                                       const Loaded& loaded, const Demand& demand) const;
  bool CountKey(KeyKind kind, Segment& segment, WallTime now);
  void UncountKey(bool from_caller);
  /// Counts bytes if they stay below the maximum for keys of this kind.
  bool Charge(KeyKind kind, std::size_t bytes);
  void Uncharge(KeyKind kind, std::size_t bytes);
  bool FreeOne(Segment& segment, WallTime now);
  bool FreeOneElsewhere(WallTime now);
  bool FreeOneAnywhere(Segment& own, WallTime now);
  /// Counts an operation; sweeps a few cells at regular intervals.
  void SweepIfDue(Segment& segment, WallTime now);
  /// Whether a sweep may shrink histories: not while a call has loaded keys.
  enum class Histories : std::uint8_t { kLeave, kShrink };
  void Sweep(Segment& segment, WallTime now, std::uint32_t cells, Histories histories);
  void GiveBackPages(Segment& segment);
  void Drop(Segment& segment, Cell* cell);
  [[nodiscard]] KeyState Describe(const Cell& cell, WallTime now) const;
  [[nodiscard]] std::uint64_t IdOf(const Cell& cell) const;

  /// A cell and its home's offset byte.
  static constexpr std::size_t kBytesPerCell = sizeof(Cell) + 1;
  static constexpr std::size_t kBytesPerPage = Segment::kPageCells * kBytesPerCell;

  const MemoryStoreOptions options_;
  const std::size_t reserve_bytes_;     ///< Part of max_bytes for overflow keys only.
  const std::size_t max_caller_keys_;   ///< Part of max_keys for keys of kind kFromCaller.
  const std::size_t max_caller_bytes_;  ///< Part of max_bytes for those.
  const KeyHasher hasher_{KeyHasher::Method::kHidden};
  const KeyHasher id_hasher_;
  Cell* const cells_;
  const std::size_t cell_count_;
  const std::size_t segment_count_;
  const int segment_shift_;
  const std::unique_ptr<Segment[]> segments_;
  /// Two per segment (ordinary and kFromCaller), guarded by its lock; null if nothing is settled.
  std::vector<std::unique_ptr<SettlementMarks>> marks_;

  // Relaxed: independent counters that publish no other data.
  std::atomic<std::size_t> keys_{0};
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> caller_keys_{0};
  std::atomic<std::size_t> caller_bytes_{0};  ///< Cells and heap memory of kFromCaller keys.
  std::atomic<std::uint64_t> expired_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> caller_refused_{0};
  std::atomic<std::size_t> free_hand_{0};  ///< Next segment to search for a fresh key.
};

}  // namespace sluice::store

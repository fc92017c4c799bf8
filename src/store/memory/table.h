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
  void RunOne(StoreCall& call, const KeyHash& hash);
  void RunSeveral(StoreCall& call);
  void RunPlainChecks(std::span<StoreCall* const> calls);

  void Walk(WallTime now, const std::function<bool(const KeyState&)>& visit) const;
  [[nodiscard]] MemoryStoreStats StatsApprox() const;

 private:
  /// A key's state, taken out of the table for the time of a call.
  struct Loaded {
    EvaluatedKey subject;
    /// For a key that needs one and has none in the table yet.
    std::unique_ptr<ExtendedState> made;
    ExtendedState* held = nullptr;  ///< The cell's, if it has one.
    bool present = false;
    /// Of a present key what its cell says, of a new one what the use does.
    bool from_caller = false;
    bool counted = false;        ///< A new key that Reserve made room for.
    std::size_t heap_bytes = 0;  ///< Counted by Reserve, for what WriteBack puts on the heap.
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
    bool no_room = false;
    Loaded loaded;
  };

  Table(const MemoryStoreOptions& options, Cell* cells, std::size_t cell_count,
        std::size_t segment_count, std::uint32_t segment_cells);

  [[nodiscard]] Segment& SegmentOf(const KeyHash& hash) const {
    return segments_[hash.high >> segment_shift_];
  }

  void RunIn(Segment& segment, StoreCall& call, const KeyHash& hash);
  /// Any operation on one key.
  void RunAlone(StoreCall& call, const Place& place);
  void RunParts(StoreCall& call, std::span<Part> parts);
  static Place PlaceOf(const Part& part) {
    return {*part.segment, part.hash, part.segment->Find(part.hash)};
  }
  Place PlaceForCall(const StoreCall& call, const Part& part);
  void RunLocked(StoreCall& call, std::span<Part> parts);
  /// Room for all that the call may add, before anything is taken: all or nothing holds for
  /// memory, too. False: nothing is reserved, and the uses without room are marked.
  bool ReserveFor(StoreCall& call, std::span<Part> parts);
  /// Answers a call for which there is no room: by a denial, which takes none, or kStoreFull.
  /// `clock_set_back`: also a denial would have to be written.
  void AnswerWithoutRoom(StoreCall& call, std::span<EvaluatedKey* const> subjects,
                         bool clock_set_back);
  void Forget(StoreCall& call, KeyUse& use, const Place& place);
  void Inspect(const StoreCall& call, KeyUse& use, const Cell* cell) const;

  /// Bytes for marks, of keys of rules and of keys of callers' limits.
  struct MarkBytes {
    std::size_t ordinary = 0;
    std::size_t from_caller = 0;
  };
  /// Room for the key of each receipt that was not settled before to remember it: `bytes` are
  /// counted until MarkSettled has counted what was needed. False: `call` has the error.
  bool ReserveMarks(StoreCall& call, std::span<const Part> parts, MarkBytes& bytes);
  /// Finds out which receipts were settled before, and remembers the others as settled now.
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
  /// Puts the bytes that a segment's marks occupy now, instead of `before`, into the sums; frees
  /// marks that are empty.
  void CountMarks(std::unique_ptr<SettlementMarks>& marks, KeyKind kind, std::size_t before);

  void Load(const Cell* cell, const KeyUse& use, WallTime now, Loaded& loaded) const;
  /// Room is reserved already.
  void WriteBack(const StoreCall& call, const KeyUse& use, const Place& place, Loaded& loaded);
  void Overwrite(Cell& cell, const KeyHash& hash, const KeyUse& use, Loaded& loaded);
  std::unique_ptr<ExtendedState> Extend(const KeyUse& use, Loaded& loaded);

  /// Puts the bytes that `extended` occupies now into the sum.
  void CountBytes(ExtendedState& extended);
  void Free(ExtendedState* extended);

  /// Maximum growth of one key by a call: one entry of its history for each of `uses` uses,
  /// which cost `cost` together.
  struct Demand {
    std::size_t uses = 1;
    std::int64_t cost = 0;
  };
  /// Whether a call adds nothing to a key for which there might be no room: what nearly all keys
  /// are that are held.
  [[nodiscard]] bool NeedsNoRoom(const StoreCall& call, const KeyUse& use,
                                 const Loaded& loaded) const {
    if (call.operation == Operation::kPeek) return true;
    return loaded.present && call.operation == Operation::kCheck && loaded.held == nullptr &&
           loaded.made == nullptr && use.limit->shape() != 0 &&
           use.limit->algorithm() != Algorithm::kSlidingWindowCounter && !options_.keep_names;
  }
  /// Room for what a call may add, beside `promised` new keys that are not inserted yet: a cell,
  /// counted in `keys_`, and bytes, counted in `bytes_`. Forgets only what holds no information.
  /// False if that is not enough; then nothing is counted.
  bool Reserve(const StoreCall& call, const KeyUse& use, Segment& segment, Loaded& loaded,
               const Demand& demand, std::uint32_t promised);
  /// Takes back what Reserve counted and WriteBack did not use.
  void Unreserve(Loaded& loaded) {
    if (loaded.counted || loaded.heap_bytes != 0) TakeBack(loaded);
  }
  void TakeBack(Loaded& loaded);
  bool ReserveCell(KeyKind kind, Segment& segment, std::uint32_t promised, WallTime now);
  bool ReserveHeap(const StoreCall& call, const KeyUse& use, Segment& segment, Loaded& loaded,
                   const Demand& demand);
  /// The most that WriteBack adds on the heap.
  [[nodiscard]] std::size_t HeapNeeded(const StoreCall& call, const KeyUse& use,
                                       const Loaded& loaded, const Demand& demand) const;
  bool CountKey(KeyKind kind, Segment& segment, WallTime now);
  void UncountKey(bool from_caller);
  /// Counts bytes, if they are below the ceiling for keys of this kind.
  bool Charge(KeyKind kind, std::size_t bytes);
  void Uncharge(KeyKind kind, std::size_t bytes);
  bool FreeOne(Segment& segment, WallTime now);
  bool FreeOneElsewhere(WallTime now);
  bool FreeOneAnywhere(Segment& own, WallTime now);
  /// Counts an operation; every so many of them, a few cells are swept.
  void SweepIfDue(Segment& segment, WallTime now);
  /// Whether a sweep may shorten histories: not while a call has loaded keys.
  enum class Histories : std::uint8_t { kLeave, kShrink };
  void Sweep(Segment& segment, WallTime now, std::uint32_t cells, Histories histories);
  void GiveBackPages(Segment& segment);
  void Drop(Segment& segment, Cell* cell);
  [[nodiscard]] KeyState Describe(const Cell& cell, WallTime now) const;
  [[nodiscard]] std::uint64_t IdOf(const Cell& cell) const;

  /// A cell, and the byte that says how far up the cells of its place's home begin.
  static constexpr std::size_t kBytesPerCell = sizeof(Cell) + 1;
  static constexpr std::size_t kBytesPerPage = Segment::kPageCells * kBytesPerCell;

  const MemoryStoreOptions options_;
  const std::size_t reserve_bytes_;     ///< Of max_bytes: for overflow keys only.
  const std::size_t max_caller_keys_;   ///< Of max_keys: for keys of limits that callers bring.
  const std::size_t max_caller_bytes_;  ///< The same of max_bytes.
  const KeyHasher hasher_;
  const KeyHasher id_hasher_;
  Cell* const cells_;
  const std::size_t cell_count_;
  const std::size_t segment_count_;
  const int segment_shift_;
  const std::unique_ptr<Segment[]> segments_;
  /// By segment and guarded by its lock, those of callers' keys apart; null where nothing is
  /// settled.
  std::vector<std::unique_ptr<SettlementMarks>> marks_;

  // Counted with relaxed order: each is a number by itself, and guards nothing else.
  std::atomic<std::size_t> keys_{0};
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> caller_keys_{0};
  std::atomic<std::size_t> caller_bytes_{0};  ///< Their cells, and what they have on the heap.
  std::atomic<std::uint64_t> expired_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> caller_refused_{0};
  std::atomic<std::size_t> free_hand_{0};  ///< Which segment to look into next for a key to drop.
};

}  // namespace sluice::store

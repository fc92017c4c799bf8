#include "store/memory/table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "algo/algorithm_info.h"
#include "algo/bucket.h"
#include "base/key_hash_aes.h"

namespace sluice::store {
namespace {

// Approximate keys per segment when the store is full: enough for an even distribution, few enough
// for short scans.
constexpr std::size_t kKeysPerSegment = 4096;
constexpr std::size_t kMinSegments = 16;
constexpr std::size_t kMaxSegments = 65536;
constexpr std::size_t kMaxKeys = std::size_t{1} << 36;

// Incremental sweep: a few cells every so many operations, and a few more per Insert, so that no
// call waits for a full sweep.
constexpr std::uint16_t kOperationsPerSweep = 256;
constexpr std::uint32_t kCellsPerSweep = 16;
constexpr std::uint32_t kCellsPerInsert = 4;
// The part of max_bytes that only overflow keys may use.
constexpr std::size_t kReserveDivisor = 16;
constexpr std::size_t kMostReserve = std::size_t{16} << 20;
// Calls with up to this many limits are evaluated without allocating.
constexpr std::size_t kPartsOnStack = 8;

// Checks and consumes from a bucket that is stored in its cell under the same numbers. The cost is
// between 1 and the cap. Returns false, and does nothing, if the clock was set back. No division:
// this is nearly all that most calls do.
[[gnu::always_inline]] inline bool TakeFromCell(const LimitNumbers& limit, std::int64_t cost,
                                                WallTime now, Cell& cell, bool& allowed,
                                                algo::State& state) {
  state.at = cell.PairTime();
  if (now < state.at) return false;
  state.value = cell.PairValue();
  algo::bucket::Advance(limit, now, state);
  const std::int64_t amount = cost * limit.rate_den;
  allowed = amount <= state.value;
  if (allowed) {
    state.value -= amount;
    cell.SetPair(state.at, state.value);
  }
  return true;
}

// Fast path of Decide for the usual call: an enforced check of a bucket that is stored in its cell
// under the same numbers. Returns false, and does nothing, for everything else.
bool CheckedInPlace(StoreCall& call, KeyUse& use, Cell& cell) {
  const LimitNumbers& limit = use.limit->numbers();
  if (call.operation != Operation::kCheck || limit.algorithm != Algorithm::kTokenBucket ||
      use.mode != Mode::kEnforce || use.count_denied || use.only_looks || use.cost == 0 ||
      use.cost > limit.cap || !cell.IsInlineUnder(*use.limit)) {
    return false;
  }
  algo::State state;
  if (!TakeFromCell(limit, use.cost, call.now, cell, call.allowed, state)) return false;
  const BucketCheck check{.limit = use.limit,
                          .cost = use.cost,
                          .now = call.now,
                          .allowed = call.allowed,
                          .at = state.at,
                          .value = state.value};
  use.verdict = check.verdict();
  use.receipt = check.receipt();
  return true;
}

/// Locks of several segments, taken in the order of their addresses. Sorts the span, which must
/// stay.
class SegmentLocks {
 public:
  explicit SegmentLocks(std::span<Segment*> segments) : begin_(segments.data()) {
    std::sort(segments.begin(), segments.end());
    end_ = begin_ + (std::unique(segments.begin(), segments.end()) - segments.begin());
    std::for_each(begin_, end_, [](Segment* segment) { segment->lock.lock(); });
  }
  ~SegmentLocks() {
    std::for_each(begin_, end_, [](Segment* segment) { segment->lock.unlock(); });
  }
  SegmentLocks(const SegmentLocks&) = delete;
  SegmentLocks& operator=(const SegmentLocks&) = delete;

 private:
  Segment** begin_;
  Segment** end_;
};

Inspection InspectionOf(const LimitNumbers& limit, WallTime now, const algo::State& state,
                        const Cell* cell) {
  Inspection inspection{.live = state.grant > 0 || algo::FreshAt(limit, state) > now,
                        .level = algo::Left(limit, now, state),
                        .grant = state.grant,
                        .expiring_grant = state.expiring_grant,
                        .grant_expires = state.grant_expires};
  if (cell == nullptr) return inspection;
  const algo::State stored = cell->State();
  inspection.touched = stored.at;
  inspection.fresh_after = algo::WaitUntil(now, algo::FreshAt(cell->Numbers(), stored));
  return inspection;
}

std::size_t PercentOf(std::size_t whole, std::size_t percent) {
  return whole / 100 * percent + whole % 100 * percent / 100;
}

std::uint32_t CellsPerSegment(std::size_t max_keys, std::size_t segments) {
  const double mean = static_cast<double>(max_keys) / static_cast<double>(segments);
  // Six standard deviations: no segment is full before the store is.
  const double most = mean + 6 * std::sqrt(mean) + 64;
  const auto cells = static_cast<std::size_t>(most / 0.88) + 64;
  const std::size_t pages = (cells + Segment::kPageCells - 1) / Segment::kPageCells;
  // One more, for a run that gets longer than its segment's tail.
  return static_cast<std::uint32_t>((pages + 1) * Segment::kPageCells);
}

}  // namespace

Result<std::unique_ptr<MemoryStore::Table>> MemoryStore::Table::Create(
    const MemoryStoreOptions& options) {
  if (options.max_keys < 1 || options.max_keys > kMaxKeys) {
    return Error{ErrorCode::kInvalidOptions,
                 "max_keys must be between 1 and 2^36, found " + std::to_string(options.max_keys)};
  }
  if (options.caller_percent > 100) {
    return Error{ErrorCode::kInvalidOptions, "caller_percent must be between 0 and 100, found " +
                                                 std::to_string(options.caller_percent)};
  }
  const std::size_t segments = std::clamp(std::bit_floor(options.max_keys / kKeysPerSegment + 1),
                                          kMinSegments, kMaxSegments);
  const std::size_t least_bytes = segments * sizeof(Segment) + kBytesPerPage;
  if (options.max_bytes != 0 && options.max_bytes < least_bytes) {
    return Error{ErrorCode::kInvalidOptions,
                 "max_bytes must be 0 or at least " + std::to_string(least_bytes) + " for " +
                     std::to_string(options.max_keys) + " keys, found " +
                     std::to_string(options.max_bytes)};
  }
  const std::uint32_t segment_cells = CellsPerSegment(options.max_keys, segments);
  const std::size_t cell_count = segments * segment_cells;
  const std::size_t bytes = cell_count * kBytesPerCell;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{ErrorCode::kInvalidOptions,
                 "can't reserve " + std::to_string(bytes) + " bytes of address space for " +
                     std::to_string(options.max_keys) +
                     " keys; lower max_keys or raise the limit (ulimit -v)"};
  }
  // Huge pages would make whole ranges resident of which only the beginnings are used.
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  return std::unique_ptr<Table>(
      new Table(options, static_cast<Cell*>(memory), cell_count, segments, segment_cells));
}

MemoryStore::Table::Table(const MemoryStoreOptions& options, Cell* cells, std::size_t cell_count,
                          std::size_t segment_count, std::uint32_t segment_cells)
    : options_(options),
      reserve_bytes_(std::min(options.max_bytes / kReserveDivisor, kMostReserve)),
      max_caller_keys_(PercentOf(options.max_keys, options.caller_percent)),
      max_caller_bytes_(options.max_bytes != 0
                            ? PercentOf(options.max_bytes, options.caller_percent)
                            : max_caller_keys_ * kBytesPerCallerKey),
      cells_(cells),
      cell_count_(cell_count),
      segment_count_(segment_count),
      segment_shift_(61 - std::countr_zero(segment_count)),
      segments_(std::make_unique<Segment[]>(segment_count)),
      marks_(2 * segment_count),
      bytes_(segment_count * sizeof(Segment)) {
  auto* const pushed = reinterpret_cast<std::uint8_t*>(cells + cell_count);
  for (std::size_t i = 0; i < segment_count; ++i) {
    segments_[i].Init(cells + i * segment_cells, pushed + i * Segment::kPageCells, segment_cells,
                      std::countr_zero(segment_count));
  }
}

MemoryStore::Table::~Table() {
  for (Segment& segment : std::span(segments_.get(), segment_count_)) {
    for (std::uint32_t i = 0; i < segment.extent(); ++i) delete segment.at(i)->extended();
  }
  munmap(cells_, cell_count_ * kBytesPerCell);
}

void MemoryStore::Table::RunOne(StoreCall& call, const KeyHash& hash) {
  Segment& segment = SegmentOf(hash);
  segment.PrefetchCells(segment.PrefetchHome(hash));  // Prefetch while the lock is taken.
  RunIn(segment, call, hash);
}

inline void MemoryStore::Table::SweepIfDue(Segment& segment, WallTime now) {
  if (++segment.operations >= kOperationsPerSweep) {
    Sweep(segment, now, kCellsPerSweep, Histories::kShrink);
  }
}

inline void MemoryStore::Table::RunIn(Segment& segment, StoreCall& call, const KeyHash& hash) {
  KeyUse& use = call.uses[0];
  const std::lock_guard lock(segment.lock);
  SweepIfDue(segment, call.now);
  call.ok = true;
  Cell* const cell = segment.Find(hash);
  if (cell == nullptr || !CheckedInPlace(call, use, *cell)) {
    RunAlone(call, {segment, hash, cell});
  }
}

// A lookup has three dependent cache misses: the segment, the home's offset byte, and the cells.
// Each is prefetched for all keys while others are hashed. `hash_at(i)` returns the i-th hash.
template <typename HashAt, typename Aims>
inline void MemoryStore::Table::Prefetch(std::size_t count, const HashAt& hash_at,
                                         Aims& aims) const {
  constexpr std::size_t kLead = 3;
  for (std::size_t i = 0; i < count + 2 * kLead; ++i) {
    if (i < count) {
      aims[i].hash = hash_at(i);
      aims[i].segment = &SegmentOf(aims[i].hash);
      __builtin_prefetch(aims[i].segment, 1);
    }
    if (i >= kLead && i - kLead < count) {
      Aim& aim = aims[i - kLead];
      aim.home = aim.segment->PrefetchHome(aim.hash);
    }
    if (i >= 2 * kLead) {
      const Aim& aim = aims[i - 2 * kLead];
      aim.segment->PrefetchCells(aim.home);
    }
  }
}

void MemoryStore::Table::RunPlainChecks(std::span<StoreCall* const> calls) {
  std::array<Aim, kBatch> aims;
  Prefetch(calls.size(), [&](std::size_t i) { return HashOf(calls[i]->uses[0].key); }, aims);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i]->affected = 0;
    calls[i]->pending = false;
    calls[i]->now = algo::ClampTime(calls[i]->now);
    RunIn(*aims[i].segment, *calls[i], aims[i].hash);
  }
}

[[gnu::always_inline]] inline void MemoryStore::Table::CheckBucketIn(Segment& segment, KeyHash hash,
                                                                     BucketCheck& check) {
  const LimitNumbers& limit = check.limit->numbers();
  const std::int64_t cost = check.cost;
  const WallTime now = algo::ClampTime(check.now);
  check.now = now;
  check.done = false;
  if (limit.algorithm != Algorithm::kTokenBucket || cost < 1 || cost > limit.cap) return;
  const std::lock_guard lock(segment.lock);
  SweepIfDue(segment, now);
  Cell* const cell = segment.Find(hash);
  if (cell == nullptr || !cell->IsInlineUnder(*check.limit)) return;
  algo::State state;
  check.done = TakeFromCell(limit, cost, now, *cell, check.allowed, state);
  check.at = state.at;
  check.value = state.value;
}

[[gnu::always_inline]] inline void MemoryStore::Table::CheckBucketOf(KeyHash hash,
                                                                     BucketCheck& check) {
  Segment& segment = SegmentOf(hash);
  // While the lock is taken. A small table is in the cache: there it would only delay the lock.
  if (segment_count_ > kMinSegments) segment.PrefetchCells(segment.PrefetchHome(hash));
  CheckBucketIn(segment, hash, check);
}

// The whole check in one function: calls and copies would take as long as the hash.
#if defined(__x86_64__)
[[gnu::target("aes,sse4.1")]] void MemoryStore::Table::CheckBucketByAes(
    const KeyHasher::Prefix& prefix, const Key& key, BucketCheck& check) {
  CheckBucketOf(hasher_.HashHidden(prefix, key), check);
}
#else
void MemoryStore::Table::CheckBucketByAes(const KeyHasher::Prefix& prefix, const Key& key,
                                          BucketCheck& check) {
  CheckBucketOf(hasher_(prefix, key), check);
}
#endif

void MemoryStore::Table::CheckBucket(const KeyHasher::Prefix* prefix, const Key& key,
                                     BucketCheck& check) {
  if (prefix == nullptr) return CheckBucketOf(hasher_(key), check);
  if (hasher_.is_hidden_aes()) return CheckBucketByAes(*prefix, key, check);
  CheckBucketOf(hasher_(*prefix, key), check);
}

void MemoryStore::Table::CheckBuckets(const KeyHasher::Prefix* prefix, std::span<const Key> keys,
                                      std::span<BucketCheck> checks) {
  std::array<Aim, kBatch> aims;
  const auto hash_at = [&](std::size_t i) {
    return prefix != nullptr ? HashOf(*prefix, keys[i]) : HashOf(keys[i]);
  };
  Prefetch(keys.size(), hash_at, aims);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CheckBucketIn(*aims[i].segment, aims[i].hash, checks[i]);
  }
}

bool MemoryStore::Table::IsLive(const Key& key, WallTime now) const {
  const KeyHash hash = HashOf(key);
  Segment& segment = SegmentOf(hash);
  const std::lock_guard lock(segment.lock);
  const Cell* const cell = segment.Find(hash);
  return cell != nullptr && cell->FreshAt() > now;
}

void MemoryStore::Table::RunAlone(StoreCall& call, const Place& place) {
  KeyUse& use = call.uses[0];
  if (call.operation == Operation::kReset) return Forget(call, use, place);
  if (call.operation == Operation::kInspect) return Inspect(call, use, place.cell);
  Loaded loaded;
  Load(place.cell, use, call.now, loaded);
  EvaluatedKey* const subject = &loaded.subject;
  if (!NeedsNoRoom(call, use, loaded) &&
      !Reserve(call, use, place.segment, loaded, {.uses = 1, .cost = use.cost}, 0)) {
    use.no_room = true;
    return AnswerWithoutRoom(call, {&subject, 1}, loaded.clock_set_back);
  }
  Decide(call, {&subject, 1});
  // Making room moves no cell of this segment if the key is present.
  WriteBack(call, use, place, loaded);
}

// The same as CheckedInPlace for a call over a few limits.
bool MemoryStore::Table::CheckedSeveralInPlace(StoreCall& call) {
  constexpr std::size_t kMost = 4;
  struct Target {
    Segment* segment;
    KeyHash hash;
    Cell* cell;
    algo::State state;
    bool fits;
  };
  const std::size_t count = call.uses.size();
  if (call.operation != Operation::kCheck || count < 2 || count > kMost) return false;
  std::array<Target, kMost> targets;
  std::array<Segment*, kMost> segments;
  for (std::size_t i = 0; i < count; ++i) {
    const KeyUse& use = call.uses[i];
    const LimitNumbers& limit = use.limit->numbers();
    if (limit.algorithm != Algorithm::kTokenBucket || use.mode != Mode::kEnforce ||
        use.count_denied || use.only_looks || use.cost == 0 || use.cost > limit.cap) {
      return false;
    }
    Target& target = targets[i];
    target.hash = HashOf(use.key);
    target.segment = segments[i] = &SegmentOf(target.hash);
    target.segment->PrefetchCells(target.segment->PrefetchHome(target.hash));
    for (std::size_t j = 0; j < i; ++j) {
      if (targets[j].hash == target.hash) return false;
    }
  }
  const SegmentLocks locks({segments.data(), count});
  bool allowed = true;
  for (std::size_t i = 0; i < count; ++i) {
    const KeyUse& use = call.uses[i];
    Target& target = targets[i];
    target.cell = target.segment->Find(target.hash);
    if (target.cell == nullptr || !target.cell->IsInlineUnder(*use.limit)) return false;
    target.state = target.cell->State();
    if (call.now < target.state.at) return false;
    algo::bucket::Advance(use.limit->numbers(), call.now, target.state);
    target.fits = use.cost <= algo::bucket::Left(use.limit->numbers(), target.state);
    allowed = allowed && target.fits;
  }
  call.ok = true;
  call.affected = 0;
  call.allowed = allowed;
  for (std::size_t i = 0; i < count; ++i) {
    KeyUse& use = call.uses[i];
    Target& target = targets[i];
    const LimitNumbers& limit = use.limit->numbers();
    use.receipt = {};
    if (allowed) {
      algo::bucket::Take(limit, target.state, use.cost);
      target.cell->TryPack(target.hash, *use.limit, target.state);
      use.receipt = {.amount = use.cost, .at = target.state.at};
    }
    use.verdict = algo::bucket::VerdictOf(limit, call.now, target.state, use.cost, target.fits);
  }
  // Last, because it moves cells.
  for (std::size_t i = 0; i < count; ++i) SweepIfDue(*targets[i].segment, call.now);
  return true;
}

void MemoryStore::Table::RunSeveral(StoreCall& call) {
  if (CheckedSeveralInPlace(call)) return;
  const std::size_t count = call.uses.size();
  if (count <= kPartsOnStack) {
    std::array<Part, kPartsOnStack> parts;
    return RunParts(call, {parts.data(), count});
  }
  std::vector<Part> parts(count);
  RunParts(call, parts);
}

void MemoryStore::Table::RunParts(StoreCall& call, std::span<Part> parts) {
  std::array<Segment*, kMaxLimitsPerCall> segments;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].hash = HashOf(call.uses[i].key);
    parts[i].segment = segments[i] = &SegmentOf(parts[i].hash);
    parts[i].segment->PrefetchCells(parts[i].segment->PrefetchHome(parts[i].hash));
    for (std::size_t j = 0; j < i && parts[i].shared_with == nullptr; ++j) {
      if (parts[j].hash == parts[i].hash) parts[i].shared_with = &parts[j];
    }
  }
  const SegmentLocks locks({segments.data(), parts.size()});
  RunLocked(call, parts);
}

void MemoryStore::Table::RunLocked(StoreCall& call, std::span<Part> parts) {
  call.ok = true;
  call.affected = 0;
  for (const Part& part : parts) SweepIfDue(*part.segment, call.now);
  if (call.operation == Operation::kReset || call.operation == Operation::kInspect) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Place place = PlaceOf(parts[i]);
      if (call.operation == Operation::kReset) {
        Forget(call, call.uses[i], place);
      } else {
        Inspect(call, call.uses[i], place.cell);
      }
    }
    return;
  }
  std::array<EvaluatedKey*, kMaxLimitsPerCall> subjects;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    if (part.shared_with == nullptr) {
      Load(PlaceForCall(call, part).cell, call.uses[i], call.now, part.loaded);
    }
    subjects[i] = &(part.shared_with != nullptr ? part.shared_with : &part)->loaded.subject;
  }
  MarkBytes mark_bytes;
  const bool adjusts = call.operation == Operation::kAdjust && !parts.empty();
  if (adjusts && !ReserveMarks(call, parts, mark_bytes)) return;
  const bool fits = ReserveFor(call, parts);
  if (fits && adjusts) MarkSettled(call, parts);
  Uncharge(mark_bytes);
  if (!fits) {
    const bool clock_set_back = std::any_of(
        parts.begin(), parts.end(), [](const Part& part) { return part.loaded.clock_set_back; });
    return AnswerWithoutRoom(call, {subjects.data(), parts.size()}, clock_set_back);
  }
  Decide(call, {subjects.data(), parts.size()});
  // Keys that are there first: their histories have changed already, and adding a key sweeps cells
  // of its segment, which must not see a history beside the state it had before the call.
  for (const bool present : {true, false}) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Part& part = parts[i];
      if (part.shared_with != nullptr || part.loaded.present != present) continue;
      // Found anew, because what was written before may have moved it.
      WriteBack(call, call.uses[i], PlaceOf(part), part.loaded);
    }
  }
}

// Drops a fresh key before the call loads it; otherwise making room for other keys of the call, or
// a sweep, might drop it in the middle of the call.
MemoryStore::Table::Place MemoryStore::Table::PlaceForCall(const StoreCall& call,
                                                           const Part& part) {
  Place place = PlaceOf(part);
  if (place.cell == nullptr || call.operation == Operation::kPeek) return place;
  if (place.cell->FreshAt() > call.now) return place;
  Drop(place.segment, place.cell);
  expired_.fetch_add(1, std::memory_order_relaxed);
  return {place.segment, place.hash, nullptr};
}

void MemoryStore::Table::Forget(StoreCall& call, KeyUse& use, const Place& place) {
  if (place.cell != nullptr) {
    if (place.cell->FreshAt() > call.now) ++call.affected;
    Drop(place.segment, place.cell);
    GiveBackPages(place.segment);
  }
  const LimitNumbers& limit = use.limit->numbers();
  use.verdict = Peek(limit, call.now, algo::Fresh(limit, call.now));
}

void MemoryStore::Table::Inspect(const StoreCall& call, KeyUse& use, const Cell* cell) const {
  const LimitNumbers& limit = use.limit->numbers();
  Loaded loaded;
  Load(cell, use, call.now, loaded);
  const algo::State& state = loaded.subject.state;
  use.verdict = Peek(limit, call.now, state);
  if (use.inspection == nullptr) return;
  *use.inspection = InspectionOf(limit, call.now, state, cell);
}

void MemoryStore::Table::Load(const Cell* cell, const KeyUse& use, WallTime now,
                              Loaded& loaded) const {
  const Limit& limit = *use.limit;
  const LimitNumbers& numbers = limit.numbers();
  algo::State& state = loaded.subject.state;
  loaded.present = cell != nullptr;
  loaded.from_caller = cell != nullptr ? cell->from_caller() : use.kind == KeyKind::kFromCaller;
  const LimitNumbers* from = nullptr;
  if (cell != nullptr) {
    loaded.held = cell->extended();
    state = cell->State();
    algo::ExpireGrant(now, state);
    from = &cell->Numbers();
    loaded.converted = *from != numbers;
    // A fresh key might as well have been dropped: under new numbers it starts fresh.
    if (loaded.converted && cell->FreshAt() <= now) from = nullptr;
  }
  if (from == nullptr || from->algorithm != numbers.algorithm) {
    const algo::State before = state;
    state = algo::Fresh(numbers, now);
    if (numbers.algorithm != Algorithm::kConcurrency) {
      state.grant = before.grant;
      state.expiring_grant = before.expiring_grant;
      state.grant_expires = before.grant_expires;
    }
    if (algo::InfoOf(numbers.algorithm).keeps_history) {
      loaded.made = std::make_unique<ExtendedState>(ExtendedState{.limit = limit});
      state.history = &loaded.made->history;
    }
  } else if (loaded.converted) {
    loaded.clock_set_back = algo::Convert(*from, numbers, now, state) == algo::ClockSeen::kSetBack;
  }
  if (algo::Advance(numbers, now, state) == algo::ClockSeen::kSetBack) {
    loaded.clock_set_back = true;
  }
}

void MemoryStore::Table::WriteBack(const StoreCall& call, const KeyUse& use, const Place& place,
                                   Loaded& loaded) {
  Segment& segment = place.segment;
  algo::State& state = loaded.subject.state;
  if (loaded.clock_set_back && call.operation != Operation::kPeek) {
    algo::Commit(use.limit->numbers(), state);
    loaded.subject.changed = true;
  }
  const bool as_if_never_used =
      !loaded.present && state.grant == 0 &&
      (!loaded.subject.changed || algo::FreshAt(use.limit->numbers(), state) <= call.now);
  if (!loaded.subject.changed || as_if_never_used) return Unreserve(loaded);
  const bool had_grant = loaded.present && place.cell->State().grant > 0;
  const bool may_be_fresh_earlier =
      loaded.converted || loaded.clock_set_back || had_grant || call.operation != Operation::kCheck;
  if (may_be_fresh_earlier) segment.nothing_fresh_before = 0;
  if (loaded.present) {
    Overwrite(*place.cell, place.hash, use, loaded);
    return Unreserve(loaded);
  }
  Cell cell;
  if (options_.keep_names || !cell.TryPack(place.hash, *use.limit, state)) {
    cell.SetExtended(place.hash, Extend(use, loaded).release());
  }
  if (loaded.from_caller) cell.SetFromCaller();
  loaded.counted = false;  // Ownership moves to the cell.
  Unreserve(loaded);
  segment.nothing_fresh_before = 0;
  const std::uint32_t pages = segment.pages();
  segment.Insert(cell);
  bytes_.fetch_add(std::size_t{segment.pages() - pages} * kBytesPerPage, std::memory_order_relaxed);
  Sweep(segment, call.now, kCellsPerInsert, Histories::kLeave);
}

// Returns an extended state with the content of `loaded`.
std::unique_ptr<ExtendedState> MemoryStore::Table::Extend(const KeyUse& use, Loaded& loaded) {
  auto extended = loaded.made ? std::move(loaded.made)
                              : std::make_unique<ExtendedState>(ExtendedState{.limit = *use.limit});
  extended->state = loaded.subject.state;
  extended->from_caller = loaded.from_caller;
  if (options_.keep_names) AppendKeyName(use.key, extended->name);
  CountBytes(*extended);
  return extended;
}

void MemoryStore::Table::Overwrite(Cell& cell, const KeyHash& hash, const KeyUse& use,
                                   Loaded& loaded) {
  ExtendedState* const old = cell.extended();
  if (!options_.keep_names && cell.TryPack(hash, *use.limit, loaded.subject.state)) {
    Free(old);
  } else if (old != nullptr && !loaded.made) {
    old->limit = *use.limit;
    old->state = loaded.subject.state;
    CountBytes(*old);
  } else {
    cell.SetExtended(hash, Extend(use, loaded).release());
    Free(old);
  }
}

// The id is hashed again, because fingerprints would help to find the secret.
std::uint64_t MemoryStore::Table::IdOf(const Cell& cell) const {
  const std::array<std::uint64_t, 2> fingerprint{cell.order(), cell.low()};
  std::array<char, sizeof fingerprint> bytes;
  std::memcpy(bytes.data(), fingerprint.data(), sizeof fingerprint);
  return id_hasher_({.tag = {bytes.data(), bytes.size()}}).high;
}

KeyState MemoryStore::Table::Describe(const Cell& cell, WallTime now) const {
  const LimitNumbers& limit = cell.Numbers();
  algo::State state = cell.State();
  algo::Advance(limit, now, state);
  const ExtendedState* extended = cell.extended();
  return {.name = extended != nullptr ? extended->name : std::string(),
          .id = IdOf(cell),
          .limit = limit,
          .verdict = Peek(limit, now, state),
          .inspection = InspectionOf(limit, now, state, &cell)};
}

void MemoryStore::Table::Walk(WallTime now,
                              const std::function<bool(const KeyState&)>& visit) const {
  std::vector<KeyState> found;
  for (Segment& segment : std::span(segments_.get(), segment_count_)) {
    found.clear();
    {
      const std::lock_guard lock(segment.lock);
      for (std::uint32_t i = 0; i < segment.extent(); ++i) {
        const Cell& cell = *segment.at(i);
        if (!cell.empty() && cell.FreshAt() > now) found.push_back(Describe(cell, now));
      }
    }
    for (const KeyState& key : found) {
      if (!visit(key)) return;
    }
  }
}

MemoryStoreStats MemoryStore::Table::StatsApprox() const {
  return {.keys = keys_.load(std::memory_order_relaxed),
          .bytes = bytes_.load(std::memory_order_relaxed),
          .expired = expired_.load(std::memory_order_relaxed),
          .refused = refused_.load(std::memory_order_relaxed),
          .caller_keys = caller_keys_.load(std::memory_order_relaxed),
          .caller_bytes = caller_bytes_.load(std::memory_order_relaxed),
          .caller_refused = caller_refused_.load(std::memory_order_relaxed),
          .max_keys = options_.max_keys,
          .max_bytes = options_.max_bytes,
          .max_caller_keys = max_caller_keys_,
          .max_caller_bytes = max_caller_bytes_};
}

}  // namespace sluice::store

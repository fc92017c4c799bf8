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

#include "algo/bucket.h"

namespace sluice::store {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// About so many keys to a segment when the store is full: enough that all segments fill evenly,
// few enough that a look at all of them is short.
constexpr std::size_t kKeysPerSegment = 4096;
constexpr std::size_t kMinSegments = 64;
constexpr std::size_t kMaxSegments = 65536;
constexpr std::size_t kMaxKeys = std::size_t{1} << 36;

// Every so many operations a segment looks at a few of its cells, and an Insert at a few more, so
// that what is over goes away without anyone waiting for it.
constexpr std::uint16_t kOperationsPerSweep = 256;
constexpr std::uint32_t kCellsPerSweep = 16;
constexpr std::uint32_t kCellsPerInsert = 4;
// Calls over so many limits are judged without allocating.
constexpr std::size_t kPartsOnStack = 8;

// What Decide does, for what nearly every call is: an enforced check of a bucket that lies in its
// cell under the numbers it was written with. False (and nothing done) for everything else.
bool CheckedInPlace(Call& call, Use& use, const KeyHash& hash, Cell& cell) {
  const LimitNumbers& limit = use.limit->numbers();
  if (call.operation != Operation::kCheck || limit.algorithm != Algorithm::kTokenBucket ||
      use.mode != Mode::kEnforce || use.count_denied || use.only_looks || use.cost == 0 ||
      !cell.IsInlineUnder(*use.limit)) {
    return false;
  }
  algo::State state = cell.State();
  if (call.now < state.at) return false;
  algo::bucket::Advance(limit, call.now, state);
  const std::int64_t left = algo::bucket::Left(limit, state);
  call.allowed = use.cost <= left;
  use.receipt = {};
  use.verdict = {.limit = limit.cap, .remaining = std::max(left, std::int64_t{0})};
  if (call.allowed) {
    state.value -= use.cost * limit.rate_den;
    cell.TryPack(hash, *use.limit, state);
    use.verdict.remaining = left - use.cost;
    use.receipt = {.amount = use.cost, .at = state.at};
  } else if (use.cost > limit.cap) {
    use.verdict.outcome = Outcome::kNeverFits;
    use.verdict.retry_after = kMaxWait;
  } else {
    use.verdict.outcome = Outcome::kDenied;
    use.verdict.retry_after = algo::bucket::WaitFor(limit, call.now, state, use.cost);
  }
  use.verdict.reset_after = algo::WaitUntil(call.now, algo::bucket::FreshAt(limit, state));
  return true;
}

Inspection InspectionOf(const LimitNumbers& limit, WallTime now, const algo::State& state,
                        WallTime touched) {
  return {.live = state.grant > 0 || algo::FreshAt(limit, state) > now,
          .level = algo::Left(limit, now, state),
          .grant = state.grant,
          .touched = touched};
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
      cells_(cells),
      cell_count_(cell_count),
      segment_count_(segment_count),
      segment_shift_(61 - std::countr_zero(segment_count)),
      segments_(std::make_unique<Segment[]>(segment_count)),
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

void MemoryStore::Table::RunOne(Call& call, const KeyHash& hash) {
  Segment& segment = SegmentOf(hash);
  segment.PrefetchCells(segment.PrefetchHome(hash));  // Under way while the lock is taken.
  RunIn(segment, call, hash);
}

inline void MemoryStore::Table::SweepIfDue(Segment& segment, WallTime now) {
  if (++segment.operations >= kOperationsPerSweep) Sweep(segment, now, kCellsPerSweep);
}

inline void MemoryStore::Table::RunIn(Segment& segment, Call& call, const KeyHash& hash) {
  Use& use = call.uses[0];
  const std::lock_guard lock(segment.lock);
  SweepIfDue(segment, call.now);
  call.ok = true;
  Cell* const cell = segment.Find(hash);
  if (cell == nullptr || !CheckedInPlace(call, use, hash, *cell)) {
    RunAlone(call, {segment, hash, cell});
  }
}

// Three cache misses stand between a key and its cell: the segment, the byte that says where the
// home's cells begin, and the cells. Each is asked for while the keys behind it are hashed.
void MemoryStore::Table::RunPlainChecks(std::span<Call* const> calls) {
  constexpr std::size_t kLead = 3;
  struct Aim {
    Segment* segment;
    KeyHash hash;
    std::uint32_t home;
  };
  std::array<Aim, kBatch> aims;
  const std::size_t count = calls.size();
  for (std::size_t i = 0; i < count + 2 * kLead; ++i) {
    if (i < count) {
      aims[i].hash = HashOf(calls[i]->uses[0].key);
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
  for (std::size_t i = 0; i < count; ++i) {
    calls[i]->affected = 0;
    calls[i]->pending = false;
    calls[i]->now = algo::ClampTime(calls[i]->now);
    RunIn(*aims[i].segment, *calls[i], aims[i].hash);
  }
}

void MemoryStore::Table::RunAlone(Call& call, const Place& place) {
  Use& use = call.uses[0];
  if (call.operation == Operation::kReset) return Forget(call, use, place);
  if (call.operation == Operation::kInspect) return Inspect(call, use, place.cell);
  Loaded loaded;
  Load(place.cell, *use.limit, call.now, loaded);
  Subject* const subject = &loaded.subject;
  Decide(call, {&subject, 1});
  if (!WriteBack(call, use, place, loaded, /*reserved=*/false)) {
    call.ok = false;
    call.error = ErrorCode::kStoreFull;
  }
}

void MemoryStore::Table::RunSeveral(Call& call) {
  const std::size_t count = call.uses.size();
  if (count <= kPartsOnStack) {
    std::array<Part, kPartsOnStack> parts;
    return RunParts(call, {parts.data(), count});
  }
  std::vector<Part> parts(count);
  RunParts(call, parts);
}

void MemoryStore::Table::RunParts(Call& call, std::span<Part> parts) {
  std::array<Segment*, kMaxLimitsPerCall> segments;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].hash = HashOf(call.uses[i].key);
    parts[i].segment = segments[i] = &SegmentOf(parts[i].hash);
    parts[i].segment->PrefetchCells(parts[i].segment->PrefetchHome(parts[i].hash));
    for (std::size_t j = 0; j < i && parts[i].shared_with == nullptr; ++j) {
      if (parts[j].hash == parts[i].hash) parts[i].shared_with = &parts[j];
    }
  }
  const auto begin = segments.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(parts.size());
  std::sort(begin, end);
  const auto last = std::unique(begin, end);
  std::for_each(begin, last, [](Segment* segment) { segment->lock.lock(); });
  RunLocked(call, parts);
  std::for_each(begin, last, [](Segment* segment) { segment->lock.unlock(); });
}

void MemoryStore::Table::RunLocked(Call& call, std::span<Part> parts) {
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
  std::array<Subject*, kMaxLimitsPerCall> subjects;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    if (part.shared_with == nullptr) {
      Load(PlaceForCall(call, part).cell, *call.uses[i].limit, call.now, part.loaded);
    }
    subjects[i] = &(part.shared_with != nullptr ? part.shared_with : &part)->loaded.subject;
  }
  if (call.operation != Operation::kPeek && !ReserveFor(parts, call.now)) {
    call.ok = false;
    call.error = ErrorCode::kStoreFull;
    return;
  }
  Decide(call, {subjects.data(), parts.size()});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    if (part.shared_with != nullptr) continue;
    // Found anew, because what was written before may have moved it.
    WriteBack(call, call.uses[i], PlaceOf(part), part.loaded, part.reserved);
  }
}

// Forgets a key that holds no information before the call looks at it: making room for the call's
// other keys, or sweeping after they are written, would else do so in the middle of the call.
MemoryStore::Table::Place MemoryStore::Table::PlaceForCall(const Call& call, const Part& part) {
  Place place = PlaceOf(part);
  if (place.cell == nullptr || call.operation == Operation::kPeek) return place;
  if (place.cell->FreshAt() > call.now) return place;
  Drop(place.segment, place.cell);
  expired_.fetch_add(1, kRelaxed);
  return {place.segment, place.hash, nullptr};
}

// Room for every new key, before anything is taken: all or nothing holds for memory, too.
bool MemoryStore::Table::ReserveFor(std::span<Part> parts, WallTime now) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    if (part.loaded.present || part.shared_with != nullptr) continue;
    const auto earlier = parts.first(i);
    const auto promised = std::count_if(earlier.begin(), earlier.end(), [&](const Part& other) {
      return other.reserved && other.segment == part.segment;
    });
    part.reserved =
        EnsureRoom(*part.segment, part.loaded, static_cast<std::uint32_t>(promised), now);
    if (part.reserved) continue;
    for (const Part& other : earlier) {
      if (other.reserved) keys_.fetch_sub(1, kRelaxed);
    }
    return false;
  }
  return true;
}

void MemoryStore::Table::Forget(Call& call, Use& use, const Place& place) {
  if (place.cell != nullptr) {
    if (place.cell->FreshAt() > call.now) ++call.affected;
    Drop(place.segment, place.cell);
    GiveBackPages(place.segment);
  }
  const LimitNumbers& limit = use.limit->numbers();
  use.verdict = Look(limit, call.now, algo::Fresh(limit, call.now));
}

void MemoryStore::Table::Inspect(const Call& call, Use& use, const Cell* cell) const {
  const LimitNumbers& limit = use.limit->numbers();
  Loaded loaded;
  Load(cell, *use.limit, call.now, loaded);
  const algo::State& state = loaded.subject.state;
  use.verdict = Look(limit, call.now, state);
  if (use.inspection == nullptr) return;
  *use.inspection =
      InspectionOf(limit, call.now, state, cell != nullptr ? cell->State().at : WallTime{});
}

void MemoryStore::Table::Load(const Cell* cell, const Limit& limit, WallTime now,
                              Loaded& loaded) const {
  const LimitNumbers& numbers = limit.numbers();
  algo::State& state = loaded.subject.state;
  loaded.present = cell != nullptr;
  const LimitNumbers* from = nullptr;
  if (cell != nullptr) {
    state = cell->State();
    from = &cell->Numbers();
    loaded.converted = *from != numbers;
    // What holds no information may have been forgotten: under new numbers it starts anew, too.
    if (loaded.converted && cell->FreshAt() <= now) from = nullptr;
  }
  if (from == nullptr || from->algorithm != numbers.algorithm) {
    const std::int64_t grant = state.grant;
    state = algo::Fresh(numbers, now);
    state.grant = numbers.algorithm == Algorithm::kConcurrency ? 0 : grant;
    if (algo::NeedsHistory(numbers.algorithm)) {
      loaded.made = std::make_unique<Extended>(Extended{.limit = limit});
      state.history = &loaded.made->history;
    }
  } else if (loaded.converted) {
    loaded.clock_set_back = algo::Convert(*from, numbers, now, state) == algo::ClockSeen::kSetBack;
  }
  if (algo::Advance(numbers, now, state) == algo::ClockSeen::kSetBack) {
    loaded.clock_set_back = true;
  }
}

bool MemoryStore::Table::WriteBack(const Call& call, const Use& use, const Place& place,
                                   Loaded& loaded, bool reserved) {
  Segment& segment = place.segment;
  algo::State& state = loaded.subject.state;
  if (loaded.clock_set_back && call.operation != Operation::kPeek) {
    algo::Commit(use.limit->numbers(), state);
    loaded.subject.changed = true;
  }
  const bool as_if_never_used =
      !loaded.present && state.grant == 0 &&
      (!loaded.subject.changed || algo::FreshAt(use.limit->numbers(), state) <= call.now);
  if (!loaded.subject.changed || as_if_never_used) {
    if (reserved) keys_.fetch_sub(1, kRelaxed);
    return true;
  }
  const bool had_grant = loaded.present && place.cell->State().grant > 0;
  const bool may_be_fresh_earlier =
      loaded.converted || loaded.clock_set_back || had_grant || call.operation != Operation::kCheck;
  if (may_be_fresh_earlier) segment.nothing_fresh_before = 0;
  if (loaded.present) {
    Overwrite(*place.cell, place.hash, use, loaded);
    return true;
  }
  if (!reserved && !EnsureRoom(segment, loaded, 0, call.now)) return false;
  Cell cell;
  if (options_.keep_names || !cell.TryPack(place.hash, *use.limit, state)) {
    cell.SetExtended(place.hash, Extend(use, loaded).release());
  }
  segment.nothing_fresh_before = 0;
  const std::uint32_t pages = segment.pages();
  segment.Insert(cell);
  bytes_.fetch_add(std::size_t{segment.pages() - pages} * kBytesPerPage, kRelaxed);
  Sweep(segment, call.now, kCellsPerInsert);
  return true;
}

// A heap block that holds what `loaded` says.
std::unique_ptr<Extended> MemoryStore::Table::Extend(const Use& use, Loaded& loaded) {
  auto extended = loaded.made ? std::move(loaded.made)
                              : std::make_unique<Extended>(Extended{.limit = *use.limit});
  extended->state = loaded.subject.state;
  if (options_.keep_names) AppendKeyName(use.key, extended->name);
  CountBytes(*extended);
  return extended;
}

void MemoryStore::Table::Overwrite(Cell& cell, const KeyHash& hash, const Use& use,
                                   Loaded& loaded) {
  Extended* const old = cell.extended();
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

// A fingerprint shown to anyone would help to find the secret behind all of them.
std::uint64_t MemoryStore::Table::IdOf(const Cell& cell) const {
  const std::array<std::uint64_t, 2> fingerprint{cell.order(), cell.low()};
  std::array<char, sizeof fingerprint> bytes;
  std::memcpy(bytes.data(), fingerprint.data(), sizeof fingerprint);
  return id_hasher_({.tag = {bytes.data(), bytes.size()}}).high;
}

KeyState MemoryStore::Table::Describe(const Cell& cell, WallTime now) const {
  const LimitNumbers& limit = cell.Numbers();
  algo::State state = cell.State();
  const WallTime touched = state.at;
  algo::Advance(limit, now, state);
  const Extended* extended = cell.extended();
  return {.name = extended != nullptr ? extended->name : std::string(),
          .id = IdOf(cell),
          .limit = limit,
          .verdict = Look(limit, now, state),
          .inspection = InspectionOf(limit, now, state, touched)};
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
  return {.keys = keys_.load(kRelaxed),
          .bytes = bytes_.load(kRelaxed),
          .expired = expired_.load(kRelaxed),
          .refused = refused_.load(kRelaxed)};
}

}  // namespace sluice::store

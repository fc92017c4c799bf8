// Memory accounting of the table: reservations, eviction of fresh keys, rejection.

#include <algorithm>
#include <mutex>

#include "algo/history.h"
#include "store/memory/table.h"

namespace sluice::store {
namespace {

// Cells of other segments that are searched if a key's own segment has no fresh one.
constexpr std::size_t kForeignCells = 8192;

// Maximum number of keys that are dropped for a new one.
constexpr int kMostFreed = 8;

// Whether an operation other than a check may add a key.
bool Creates(Operation operation) {
  return operation == Operation::kGrant || operation == Operation::kAdjust;
}

}  // namespace

void MemoryStore::Table::CountBytes(ExtendedState& extended) {
  const std::size_t bytes = extended.Bytes();
  // Unsigned, so that a smaller size wraps around and subtracts.
  const std::size_t more = bytes - extended.counted_bytes;
  bytes_.fetch_add(more, std::memory_order_relaxed);
  if (extended.from_caller) caller_bytes_.fetch_add(more, std::memory_order_relaxed);
  extended.counted_bytes = bytes;
}

void MemoryStore::Table::Free(ExtendedState* extended) {
  if (extended == nullptr) return;
  bytes_.fetch_sub(extended->counted_bytes, std::memory_order_relaxed);
  if (extended->from_caller)
    caller_bytes_.fetch_sub(extended->counted_bytes, std::memory_order_relaxed);
  delete extended;
}

// Added first, so that concurrent threads can't exceed the maximum together.
bool MemoryStore::Table::Charge(KeyKind kind, std::size_t bytes) {
  if (bytes == 0) return true;
  const std::size_t kept = kind == KeyKind::kOverflow ? 0 : reserve_bytes_;
  const std::size_t total = bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  bool fits = options_.max_bytes == 0 || total + kept <= options_.max_bytes;
  if (kind == KeyKind::kFromCaller) {
    fits = caller_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= max_caller_bytes_ &&
           fits;
  }
  if (!fits) Uncharge(kind, bytes);
  return fits;
}

void MemoryStore::Table::Uncharge(KeyKind kind, std::size_t bytes) {
  if (bytes == 0) return;
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  if (kind == KeyKind::kFromCaller) caller_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

bool MemoryStore::Table::CountKey(KeyKind kind, Segment& segment, WallTime now) {
  const bool fits = keys_.fetch_add(1, std::memory_order_relaxed) < options_.max_keys ||
                    kind == KeyKind::kOverflow || FreeOneAnywhere(segment, now);
  if (fits && kind != KeyKind::kFromCaller) return true;
  for (int tries = 0; fits && tries < kMostFreed; ++tries) {
    const bool key_fits = caller_keys_.fetch_add(1, std::memory_order_relaxed) < max_caller_keys_;
    const std::size_t bytes =
        caller_bytes_.fetch_add(kBytesPerCell, std::memory_order_relaxed) + kBytesPerCell;
    if (key_fits && bytes <= max_caller_bytes_) return true;
    caller_keys_.fetch_sub(1, std::memory_order_relaxed);
    caller_bytes_.fetch_sub(kBytesPerCell, std::memory_order_relaxed);
    if (!FreeOneAnywhere(segment, now)) break;
  }
  keys_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void MemoryStore::Table::UncountKey(bool from_caller) {
  keys_.fetch_sub(1, std::memory_order_relaxed);
  if (!from_caller) return;
  caller_keys_.fetch_sub(1, std::memory_order_relaxed);
  caller_bytes_.fetch_sub(kBytesPerCell, std::memory_order_relaxed);
}

bool MemoryStore::Table::ReserveCell(KeyKind kind, Segment& segment, std::uint32_t promised,
                                     WallTime now) {
  if (!CountKey(kind, segment, now)) return false;
  // Pages are shared by keys of all kinds; those of kFromCaller keys are counted by cell.
  const KeyKind payer = kind == KeyKind::kFromCaller ? KeyKind::kOrdinary : kind;
  bool freed = true;
  for (int tries = 0; freed; ++tries) {
    const std::uint32_t pages = segment.PagesNeededFor(promised + 1);
    if (pages != Segment::kNoRoom && Charge(payer, std::size_t{pages} * kBytesPerPage)) {
      segment.Reserve(promised + 1);
      return true;
    }
    // Elsewhere there are no cells for it, but bytes.
    freed = FreeOne(segment, now) ||
            (pages != Segment::kNoRoom && tries < kMostFreed && FreeOneElsewhere(now));
  }
  UncountKey(kind == KeyKind::kFromCaller);
  return false;
}

std::size_t MemoryStore::Table::HeapNeeded(const StoreCall& call, const KeyUse& use,
                                           const Loaded& loaded, const Demand& demand) const {
  const algo::State& state = loaded.subject.state;
  const bool counts_past_cell =
      use.limit->algorithm() == Algorithm::kSlidingWindowCounter &&
      std::max(state.value + demand.cost, state.previous) > Cell::kMostCounted;
  const bool has_grant = state.grant > 0 || call.operation == Operation::kGrant ||
                         (call.operation == Operation::kAdjust && use.receipt.from_grant > 0);
  const bool is_new = loaded.held == nullptr || loaded.made != nullptr;
  std::size_t bytes = 0;
  if (is_new && (loaded.made != nullptr || has_grant || counts_past_cell ||
                 use.limit->shape() == 0 || options_.keep_names)) {
    // Worst case: every byte of a key is escaped, and the string's capacity is twice its size.
    const std::size_t key_bytes = use.key.scope.size() + use.key.tag.size() + use.key.rest.size();
    bytes = ExtendedState::BytesWithName(options_.keep_names ? 2 * (3 * key_bytes + 8) : 0);
  }
  const bool adds_entries =
      call.operation == Operation::kCheck || call.operation == Operation::kAdjust;
  if (adds_entries && demand.cost > 0) {
    bytes += algo::BytesToGrow(use.limit->numbers(), state, demand.uses);
  }
  return bytes;
}

bool MemoryStore::Table::ReserveHeap(const StoreCall& call, const KeyUse& use, Segment& segment,
                                     Loaded& loaded, const Demand& demand) {
  const std::size_t bytes = HeapNeeded(call, use, loaded, demand);
  if (bytes == 0) return true;
  const KeyKind kind = loaded.from_caller               ? KeyKind::kFromCaller
                       : use.kind == KeyKind::kOverflow ? KeyKind::kOverflow
                                                        : KeyKind::kOrdinary;
  for (int tries = 0; !Charge(kind, bytes); ++tries) {
    // A present key must not move.
    const bool freed = tries < kMostFreed && (loaded.present ? FreeOneElsewhere(call.now)
                                                             : FreeOneAnywhere(segment, call.now));
    if (!freed) return false;
  }
  algo::Grow(use.limit->numbers(), loaded.subject.state, demand.cost > 0 ? demand.uses : 0);
  if (loaded.held != nullptr && loaded.made == nullptr) {
    CountBytes(*loaded.held);
    Uncharge(kind, bytes);
  } else {
    loaded.heap_bytes = bytes;
  }
  return true;
}

bool MemoryStore::Table::Reserve(const StoreCall& call, const KeyUse& use, Segment& segment,
                                 Loaded& loaded, const Demand& demand, std::uint32_t promised) {
  if (!loaded.present) {
    const bool adds_key =
        call.operation == Operation::kCheck ? demand.cost > 0 : Creates(call.operation);
    if (!adds_key) return true;
    loaded.counted = ReserveCell(use.kind, segment, promised, call.now);
    if (!loaded.counted) return false;
  }
  if (ReserveHeap(call, use, segment, loaded, demand)) return true;
  Unreserve(loaded);
  return false;
}

void MemoryStore::Table::TakeBack(Loaded& loaded) {
  if (loaded.counted) UncountKey(loaded.from_caller);
  loaded.counted = false;
  if (loaded.heap_bytes == 0) return;
  Uncharge(loaded.from_caller ? KeyKind::kFromCaller : KeyKind::kOrdinary, loaded.heap_bytes);
  loaded.heap_bytes = 0;
}

bool MemoryStore::Table::ReserveFor(StoreCall& call, std::span<Part> parts) {
  bool fits = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    if (part.shared_with != nullptr || NeedsNoRoom(call, call.uses[i], part.loaded)) continue;
    Demand demand{.uses = 0};
    for (std::size_t j = i; j < parts.size(); ++j) {
      if (j != i && parts[j].shared_with != &part) continue;
      ++demand.uses;
      if (!call.uses[j].only_looks) demand.cost += call.uses[j].cost;
    }
    const auto earlier = parts.first(i);
    const auto promised = std::count_if(earlier.begin(), earlier.end(), [&](const Part& other) {
      return other.loaded.counted && other.segment == part.segment;
    });
    const auto reserve = [&] {
      return Reserve(call, call.uses[i], *part.segment, part.loaded, demand,
                     static_cast<std::uint32_t>(promised));
    };
    // The call's own segments are locked, so that Reserve looks into one of them only. What holds
    // no information there is not the call's.
    const auto frees_one = [&](const Part& other) { return FreeOne(*other.segment, call.now); };
    part.no_room = !reserve() && !(std::any_of(parts.begin(), parts.end(), frees_one) && reserve());
    fits = fits && !part.no_room;
  }
  if (fits) return true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& owner = parts[i].shared_with != nullptr ? *parts[i].shared_with : parts[i];
    call.uses[i].no_room = owner.no_room;
    Unreserve(parts[i].loaded);
  }
  return false;
}

void MemoryStore::Table::AnswerWithoutRoom(StoreCall& call, std::span<EvaluatedKey* const> subjects,
                                           bool clock_set_back) {
  const bool counts_denied = std::any_of(call.uses.begin(), call.uses.end(),
                                         [](const KeyUse& use) { return use.count_denied; });
  if (call.operation == Operation::kCheck && !counts_denied && !clock_set_back) {
    call.operation = Operation::kPeek;
    Decide(call, subjects);
    call.operation = Operation::kCheck;
    if (!call.allowed) return;
  }
  call.ok = false;
  call.error = ErrorCode::kStoreFull;
  refused_.fetch_add(1, std::memory_order_relaxed);
  const bool of_caller = std::any_of(call.uses.begin(), call.uses.end(), [](const KeyUse& use) {
    return use.no_room && use.kind == KeyKind::kFromCaller;
  });
  if (of_caller) caller_refused_.fetch_add(1, std::memory_order_relaxed);
}

// Drops the first fresh cell; examines each cell at most once.
bool MemoryStore::Table::FreeOne(Segment& segment, WallTime now) {
  if (now.time_since_epoch().count() < segment.nothing_fresh_before) return false;
  WallTime earliest = algo::kNever;
  for (std::uint32_t peeked = 0; peeked < segment.extent(); ++peeked) {
    if (++segment.sweep_position >= segment.extent()) segment.sweep_position = 0;
    Cell* cell = segment.at(segment.sweep_position);
    if (cell->empty()) continue;
    const WallTime fresh_at = cell->FreshAt();
    if (fresh_at <= now) {
      Drop(segment, cell);
      expired_.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    earliest = std::min(earliest, fresh_at);
  }
  segment.nothing_fresh_before = earliest.time_since_epoch().count();
  return false;
}

bool MemoryStore::Table::FreeOneAnywhere(Segment& own, WallTime now) {
  return FreeOne(own, now) || FreeOneElsewhere(now);
}

bool MemoryStore::Table::FreeOneElsewhere(WallTime now) {
  std::size_t peeked = 0;
  for (std::size_t i = 0; i < segment_count_ && peeked < kForeignCells; ++i) {
    Segment& other = segments_[free_hand_.fetch_add(1, std::memory_order_relaxed) % segment_count_];
    // try_lock: this call, or one that waits for it, may already hold that lock.
    if (!other.lock.try_lock()) continue;
    const std::lock_guard lock(other.lock, std::adopt_lock);
    peeked += other.extent();
    if (FreeOne(other, now)) return true;
  }
  return false;
}

void MemoryStore::Table::Sweep(Segment& segment, WallTime now, std::uint32_t cells,
                               Histories histories) {
  segment.operations = 0;
  bool dropped = false;
  for (; cells > 0 && segment.count() > 0; --cells) {
    if (segment.sweep_position >= segment.extent()) segment.sweep_position = 0;
    Cell* cell = segment.at(segment.sweep_position);
    if (!cell->empty() && cell->FreshAt() <= now) {
      Drop(segment, cell);  // Its place may hold the next one now.
      expired_.fetch_add(1, std::memory_order_relaxed);
      dropped = true;
    } else {
      ExtendedState* const extended = cell->extended();
      if (histories == Histories::kShrink && extended != nullptr &&
          algo::Shrink(extended->limit.numbers(), now, extended->state)) {
        CountBytes(*extended);
      }
      ++segment.sweep_position;
    }
  }
  if (dropped) GiveBackPages(segment);
  SweepMarks(segment, now);
}

void MemoryStore::Table::GiveBackPages(Segment& segment) {
  bytes_.fetch_sub(std::size_t{segment.Shrink()} * kBytesPerPage, std::memory_order_relaxed);
}

void MemoryStore::Table::Drop(Segment& segment, Cell* cell) {
  Free(cell->extended());
  UncountKey(cell->from_caller());
  segment.Remove(cell);
}

}  // namespace sluice::store

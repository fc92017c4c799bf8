// The part of the table that remembers settled receipts.

#include <bitset>

#include "store/memory/table.h"

namespace sluice::store {

void MemoryStore::Table::SweepMarks(const Segment& segment, WallTime now) {
  for (const KeyKind kind : {KeyKind::kOrdinary, KeyKind::kFromCaller}) {
    std::unique_ptr<SettlementMarks>& marks = MarksOf(segment, kind);
    if (!marks) continue;
    const std::size_t before = marks->Bytes();
    marks->Sweep(now);
    CountMarks(marks, kind, before);
  }
}

void MemoryStore::Table::CountMarks(std::unique_ptr<SettlementMarks>& marks, KeyKind kind,
                                    std::size_t before) {
  if (marks->empty()) marks.reset();
  // Unsigned, so that a smaller size wraps around and subtracts.
  const std::size_t more = (marks ? marks->Bytes() : 0) - before;
  bytes_.fetch_add(more, std::memory_order_relaxed);
  if (kind == KeyKind::kFromCaller) caller_bytes_.fetch_add(more, std::memory_order_relaxed);
}

bool MemoryStore::Table::ReserveMarks(StoreCall& call, std::span<const Part> parts,
                                      MarkBytes& bytes) {
  std::bitset<kMaxLimitsPerCall> is_new;
  MarkBytes needed;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Settlement* const settlement = call.uses[i].settlement;
    if (settlement == nullptr || settlement->expires <= call.now) continue;
    const KeyKind kind = call.uses[i].kind;
    const std::unique_ptr<SettlementMarks>& marks = MarksOf(*parts[i].segment, kind);
    is_new[i] = !marks || marks->Find(parts[i].hash, *settlement) == nullptr;
    if (!is_new[i]) continue;
    std::size_t added = 1;
    for (std::size_t j = 0; j < i; ++j) {
      if (is_new[j] && parts[j].hash == parts[i].hash) ++added;
    }
    const std::size_t most = settlement->max_per_key;
    const bool has_room =
        marks ? marks->HasRoomFor(parts[i].hash, added, most, call.now) : added <= most;
    if (!has_room) {
      call.ok = false;
      call.error = ErrorCode::kTooManySettlements;
      return false;
    }
    (kind == KeyKind::kFromCaller ? needed.from_caller : needed.ordinary) +=
        SettlementMarks::kBytesOfNew;
  }
  if (Charge(KeyKind::kOrdinary, needed.ordinary)) {
    if (Charge(KeyKind::kFromCaller, needed.from_caller)) {
      bytes = needed;
      return true;
    }
    Uncharge(KeyKind::kOrdinary, needed.ordinary);
  }
  refused_.fetch_add(1, std::memory_order_relaxed);
  call.ok = false;
  call.error = ErrorCode::kStoreFull;
  for (std::size_t i = 0; i < parts.size(); ++i) call.uses[i].no_room = is_new[i];
  return false;
}

void MemoryStore::Table::MarkSettled(StoreCall& call, std::span<const Part> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Settlement* const settlement = call.uses[i].settlement;
    if (settlement == nullptr || settlement->expires <= call.now) continue;
    const KeyKind kind = call.uses[i].kind;
    std::unique_ptr<SettlementMarks>& marks = MarksOf(*parts[i].segment, kind);
    SettlementMark* const known = marks ? marks->Find(parts[i].hash, *settlement) : nullptr;
    const SettlementMark mark = Settle(call.uses[i], known);
    if (known != nullptr) {
      *known = mark;
    } else {
      const std::size_t before = marks ? marks->Bytes() : 0;
      if (!marks) marks = std::make_unique<SettlementMarks>();
      marks->Insert(parts[i].hash, *settlement, mark, call.now);
      CountMarks(marks, kind, before);
    }
  }
  SweepMarks(*parts[0].segment, call.now);
}

}  // namespace sluice::store

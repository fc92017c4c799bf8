#include "control/record_table.h"

#include <algorithm>

namespace sluice::control {

RecordTable::RecordTable(const RecordTable& other)
    : cursor_(other.cursor_), floor_(other.floor_), writes_(other.writes_) {
  for (const auto& [key, record] : other.records_) Put(record);
}

RecordTable& RecordTable::operator=(const RecordTable& other) {
  if (this != &other) *this = RecordTable(other);
  return *this;
}

const Record* RecordTable::Find(RecordKind kind, std::string_view id) const {
  const auto found = records_.find(KeyOf(kind, id));
  return found == records_.end() || found->second.removed ? nullptr : &found->second;
}

void RecordTable::Visit(RecordKind kind, std::string_view after,
                        const std::function<bool(const Record&)>& visit) const {
  for (auto next = records_.upper_bound(KeyOf(kind, after));
       next != records_.end() && next->second.kind == kind; ++next) {
    if (!next->second.removed && !visit(next->second)) return;
  }
}

std::vector<Record> RecordTable::List(bool with_removed) const {
  std::vector<Record> list;
  list.reserve(records_.size());
  for (const auto& [sequence, record] : order_) {
    if (with_removed || !record->removed) list.push_back(*record);
  }
  return list;
}

std::vector<Record> RecordTable::ListExpired(WallTime now, std::size_t count) const {
  std::vector<Record> list;
  for (const auto& [time, record] : expiring_) {
    if (time > now || list.size() >= count) break;
    list.push_back(*record);
  }
  return list;
}

std::optional<WallTime> RecordTable::NextExpiry() const {
  if (expiring_.empty()) return std::nullopt;
  return expiring_.begin()->first;
}

RecordTable::Plan RecordTable::Prepare(std::span<const RecordWrite> writes, WallTime now) const {
  Plan plan{.result = {.cursor = cursor_}};
  std::array<std::size_t, kRecordKinds.size()> counts = counts_;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const RecordWrite& write = writes[i];
    const Record* const present = Find(write.kind, write.id);
    const std::uint64_t found =
        present != nullptr && !present->IsExpired(now) ? present->sequence : 0;
    if (write.expected && *write.expected != found) {
      plan.result.outcome = RecordWriteOutcome::kConflict;
      plan.result.failed = i;
      plan.result.found = found;
      return plan;
    }
    std::size_t& count = counts[static_cast<std::size_t>(write.kind)];
    if (write.remove && present != nullptr) --count;
    if (!write.remove && present == nullptr) ++count;
  }
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const auto kind = static_cast<std::size_t>(writes[i].kind);
    if (counts[kind] <= counts_[kind] || counts[kind] <= kRecordKinds[kind].max_records) continue;
    plan.result.outcome = RecordWriteOutcome::kTooMany;
    plan.result.failed = i;
    return plan;
  }
  const WallTime time = std::max(now, cursor_.time + Micros{1});
  std::uint64_t sequence = cursor_.sequence;
  plan.result.first_sequence = sequence + 1;
  plan.records.reserve(writes.size());
  for (const RecordWrite& write : writes) {
    plan.records.push_back({.kind = write.kind,
                            .id = write.id,
                            .text = write.remove ? std::string() : write.text,
                            .sequence = ++sequence,
                            .time = time,
                            .expires_at = write.remove ? std::nullopt : write.expires_at,
                            .removed = write.remove});
  }
  plan.result.cursor = {
      .epoch = std::max<std::uint64_t>(cursor_.epoch, 1), .sequence = sequence, .time = time};
  return plan;
}

RecordTable::Plan RecordTable::PrepareRestore(std::span<const Record> records,
                                              const RecordCursor& expected,
                                              const RecordCursor& base, WallTime now) const {
  Plan plan{.result = {.cursor = cursor_}};
  if (expected != cursor_) {
    plan.result.outcome = RecordWriteOutcome::kConflict;
    return plan;
  }
  std::uint64_t sequence = base.sequence;
  plan.result.first_sequence = sequence + 1;
  plan.records.assign(records.begin(), records.end());
  for (Record& record : plan.records) record.sequence = ++sequence;
  // A restore without records is a write nevertheless.
  plan.result.cursor = {.epoch = base.epoch,
                        .sequence = std::max(sequence, base.sequence + 1),
                        .time = std::max(now, cursor_.time + Micros{1})};
  return plan;
}

void RecordTable::Put(const Record& record) {
  const auto [at, is_new] = records_.try_emplace(KeyOf(record.kind, record.id));
  Record& stored = at->second;
  std::size_t& count = counts_[static_cast<std::size_t>(record.kind)];
  if (!is_new) {
    order_.erase(stored.sequence);
    if (stored.removed) {
      removed_.erase(stored.sequence);
    } else {
      --count;
    }
    if (stored.expires_at) expiring_.erase({*stored.expires_at, &stored});
  }
  stored = record;
  order_[record.sequence] = &stored;
  if (record.removed) {
    removed_[record.sequence] = &stored;
    return;
  }
  ++count;
  if (record.expires_at) expiring_.insert({*record.expires_at, &stored});
}

void RecordTable::Apply(std::span<const Record> records, const RecordCursor& cursor) {
  for (const Record& record : records) Put(record);
  cursor_ = cursor;
  if (cursor.snapshot == 0) writes_[cursor.sequence] = cursor.time;
  while (writes_.size() > kRecordWritesKept) writes_.erase(writes_.begin());
  while (removed_.size() > kRemovedRecordsKept) {
    const Record& oldest = *removed_.begin()->second;
    floor_ = oldest.sequence;
    order_.erase(oldest.sequence);
    removed_.erase(removed_.begin());
    records_.erase(KeyOf(oldest.kind, oldest.id));
  }
}

void RecordTable::Reset(std::span<const Record> records, const RecordCursor& cursor) {
  *this = RecordTable();
  // What was removed before is not known.
  floor_ = cursor.sequence;
  Apply(records, cursor);
}

RecordTable::History RecordTable::Recognize(const RecordCursor& after) const {
  if (after.sequence == 0 || after.epoch < cursor_.epoch) return History::kTooOld;
  if (after.epoch > cursor_.epoch || after.sequence > cursor_.sequence) return History::kDiverged;
  if (after.snapshot != 0) {
    return floor_ <= after.snapshot ? History::kKnown : History::kTooOld;
  }
  if (const auto write = writes_.find(after.sequence); write != writes_.end()) {
    if (write->second != after.time) return History::kDiverged;
    return floor_ <= after.sequence ? History::kKnown : History::kTooOld;
  }
  const bool is_forgotten = writes_.empty() || after.sequence < writes_.begin()->first;
  return is_forgotten ? History::kTooOld : History::kDiverged;
}

RecordPage RecordTable::Read(const RecordCursor& after, std::size_t count, WallTime now) const {
  const History history = Recognize(after);
  const bool is_start = history != History::kKnown;
  RecordPage page{.is_snapshot_start = is_start,
                  .diverged = history == History::kDiverged,
                  .next = cursor_,
                  .now = now};
  // Removals before the first page of a snapshot are not part of it.
  const std::uint64_t snapshot = is_start ? cursor_.sequence : after.snapshot;
  count = std::clamp<std::size_t>(count, 1, kMaxRecordsPerPage);
  std::uint64_t last = 0;
  std::size_t read = 0;
  for (auto next = order_.upper_bound(is_start ? 0 : after.sequence); next != order_.end();
       ++next) {
    if (read++ == count) {
      page.complete = false;
      page.next = {.epoch = cursor_.epoch,
                   .sequence = last,
                   .time = cursor_.time,
                   .snapshot = snapshot != 0 ? snapshot : after.sequence,
                   .with_removed = after.with_removed};
      return page;
    }
    last = next->first;
    const Record& record = *next->second;
    const bool is_absent = record.removed || record.IsExpired(now);
    if (is_absent && record.sequence <= snapshot && !after.with_removed) continue;
    page.records.push_back(record);
    if (is_absent) {
      page.records.back().removed = true;
      page.records.back().text.clear();
    }
  }
  return page;
}

std::vector<Record> Merge(const RecordTable& store, const RecordTable& copy, WallTime now) {
  std::map<std::string, Record> merged;
  for (const RecordTable* const table : {&store, &copy}) {
    for (Record& record : table->List(/*with_removed=*/true)) {
      Record& kept = merged[KeyOf(record.kind, record.id)];
      if (kept.id.empty() || kept.time < record.time) kept = std::move(record);
    }
  }
  std::vector<Record> list;
  for (auto& [key, record] : merged) {
    if (!record.removed && !record.IsExpired(now)) list.push_back(std::move(record));
  }
  std::ranges::sort(list, {},
                    [](const Record& record) { return std::pair(record.time, record.sequence); });
  return list;
}

}  // namespace sluice::control

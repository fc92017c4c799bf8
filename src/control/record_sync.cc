#include "control/record_sync.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::control {
namespace {

// Expired records that are removed from the store with one write.
constexpr std::size_t kMaxPurge = 500;
// Nodes wait a random time, so that one of them removes expired records and the others don't try.
constexpr Micros kPurgeSpread = std::chrono::seconds(2);
constexpr Micros kPurgeRetry = std::chrono::seconds(5);
// Pages of one read: more than all records have.
constexpr std::size_t kMaxPages = 1000;
constexpr std::size_t kMaxIdsInAudit = 20;

bool IsLater(const RecordCursor& a, const RecordCursor& b) {
  return std::pair(a.epoch, a.sequence) > std::pair(b.epoch, b.sequence);
}

std::string PositionText(const RecordCursor& cursor) {
  return std::to_string(cursor.epoch) + '.' + std::to_string(cursor.sequence);
}

std::string JoinIds(const std::vector<RecordWrite>& writes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(writes.size(), kMaxIdsInAudit); ++i) {
    text += (i > 0 ? ", " : "") + writes[i].id;
  }
  if (writes.size() > kMaxIdsInAudit) {
    text += " and " + std::to_string(writes.size() - kMaxIdsInAudit) + " more";
  }
  return text;
}

}  // namespace

RecordSync::RecordSync(ControlStore& store, LastGoodCopy* copy, std::string node,
                       std::string address, RecordSyncHooks hooks)
    : store_(store),
      copy_(copy),
      node_(std::move(node)),
      address_(std::move(address)),
      hooks_(std::move(hooks)) {}

std::optional<SteadyTime> RecordSync::Step(const StoreHead& head, SteadyTime now) {
  now_ = head.now;
  store_offset_ = head.now.time_since_epoch() - now.time_since_epoch();
  knows_store_time_ = true;
  LoadCopy();
  std::optional<SteadyTime> next = Synchronize(head.records, now);
  if (!lost_since_ && !from_copy_) Purge(now);
  return Finish(next, now);
}

std::optional<SteadyTime> RecordSync::StepWithoutStore(SteadyTime now) {
  now_ = StoreTime(now);
  LoadCopy();
  return Finish(std::nullopt, now);
}

WallTime RecordSync::StoreTime(SteadyTime now) const {
  return knows_store_time_ ? WallTime{now.time_since_epoch() + store_offset_} : hooks_.wall_now();
}

std::optional<SteadyTime> RecordSync::Finish(std::optional<SteadyTime> next, SteadyTime now) {
  CollectExpired();
  const auto sooner = [&next](std::optional<SteadyTime> time) {
    if (time && (!next || *time < *next)) next = time;
  };
  sooner(Deliver(now));
  sooner(purge_at_);
  if (const auto expiry = table_.NextExpiry(now_)) {
    sooner(now + (*expiry - now_));
  }
  const std::lock_guard lock(mutex_);
  listed_at_ = now_;
  stats_.from_copy = from_copy_;
  stats_.records = table_.size();
  stats_.cursor = table_.cursor();
  return next;
}

void RecordSync::LoadCopy() {
  if (copy_ == nullptr || std::exchange(copy_loaded_, true)) return;
  auto loaded = copy_->LoadRecords();
  if (!loaded) {
    copy_failed_ = true;
    return hooks_.on_event({.kind = SyncEventKind::kCopyFailed, .message = loaded.error().message});
  }
  if (loaded->cursor().sequence == 0) return;
  from_copy_ = true;
  pending_complete_ = true;
  const std::lock_guard lock(mutex_);
  table_ = *std::move(loaded);
}

bool RecordSync::IsBehind(const RecordCursor& head) const {
  const std::lock_guard lock(mutex_);
  return IsLoss(head);
}

// Whether the head alone shows that the store lost writes which this node has seen.
bool RecordSync::IsLoss(const RecordCursor& head) const {
  const RecordCursor& ours = table_.cursor();
  if (ours.sequence == 0 || head.epoch > ours.epoch) return false;
  return head.epoch < ours.epoch || head.sequence < ours.sequence ||
         (head.sequence == ours.sequence && head.time != ours.time);
}

std::optional<SteadyTime> RecordSync::Synchronize(const RecordCursor& head, SteadyTime now) {
  if (head == table_.cursor()) {
    SetError({});
    lost_since_.reset();
    from_copy_ = false;
    return std::nullopt;
  }
  bool diverged = IsLoss(head);
  if (!diverged) {
    if (auto error = ReadChanges(diverged)) {
      SetError(error);
      return std::nullopt;
    }
  }
  if (diverged && from_copy_ && head.sequence != 0) {
    // The copy may be that of another store.
    auto table = ReadTable();
    if (!table) {
      SetError(table.error());
      return std::nullopt;
    }
    Take(*std::move(table));
    diverged = false;
  }
  SetError({});
  if (diverged) return HandleLoss(head, now);
  lost_since_.reset();
  return std::nullopt;
}

// Reads all changes since the last read; `diverged`: the store does not know this node's position.
std::optional<Error> RecordSync::ReadChanges(bool& diverged) {
  RecordCursor cursor = table_.cursor();
  std::vector<Record> records;
  std::optional<RecordTable> snapshot;
  for (std::size_t i = 0; i < kMaxPages; ++i) {
    auto page = store_.ReadRecords(cursor, kMaxRecordsPerPage);
    if (!page) return page.error();
    if (page->diverged) {
      diverged = true;
      return std::nullopt;
    }
    if (page->is_snapshot_start) {
      records.clear();
      snapshot.emplace();
      snapshot->Reset(page->records, page->next);
    } else if (snapshot) {
      snapshot->Apply(page->records, page->next);
    } else {
      records.insert(records.end(), std::make_move_iterator(page->records.begin()),
                     std::make_move_iterator(page->records.end()));
    }
    if (page->complete) {
      if (snapshot) {
        Take(*std::move(snapshot));
      } else {
        Apply(records, page->next);
      }
      return std::nullopt;
    }
    cursor = page->next;
  }
  return Error{ErrorCode::kStoreError, "records change faster than they can be read"};
}

// Reads everything, also what was removed.
Result<RecordTable> RecordSync::ReadTable() {
  RecordTable table;
  RecordCursor cursor{.with_removed = true};
  for (std::size_t i = 0; i < kMaxPages; ++i) {
    const auto page = store_.ReadRecords(cursor, kMaxRecordsPerPage);
    if (!page) return page.error();
    if (page->is_snapshot_start) {
      table.Reset(page->records, page->next);
    } else {
      table.Apply(page->records, page->next);
    }
    if (page->complete) return table;
    cursor = page->next;
  }
  return Error{ErrorCode::kStoreError, "records change faster than they can be read"};
}

void RecordSync::Take(RecordTable table) {
  {
    const std::lock_guard lock(mutex_);
    table_ = std::move(table);
  }
  from_copy_ = false;
  pending_complete_ = true;
  pending_.clear();
  SaveCopy({}, /*complete=*/true);
}

void RecordSync::Apply(const std::vector<Record>& records, const RecordCursor& cursor) {
  {
    const std::lock_guard lock(mutex_);
    table_.Apply(records, cursor);
  }
  const bool was_copy = std::exchange(from_copy_, false);
  for (const Record& record : records) pending_[KeyOf(record.kind, record.id)] = record;
  if (!records.empty() || was_copy) SaveCopy(records, /*complete=*/false);
}

std::optional<SteadyTime> RecordSync::HandleLoss(const RecordCursor& head, SteadyTime now) {
  if (!lost_since_) {
    lost_since_ = now;
    hooks_.on_event({.kind = SyncEventKind::kRecordsLost,
                     .message = "the store has lost records: it is at " + PositionText(head) +
                                ", this node at " + PositionText(table_.cursor()) +
                                ", keeping the records in use"});
  }
  if (now < *lost_since_ + kRestoreWait) return *lost_since_ + kRestoreWait;
  const auto ours = IsOurTurn(head);
  if (!ours) {
    SetError(ours.error());
    return std::nullopt;
  }
  if (!*ours) return std::nullopt;
  if (auto error = Restore()) {
    SetError(error);
    return std::nullopt;
  }
  return now;  // Read what was stored, by this node or another.
}

// Whether no live node has a later position. A copy that will not be used does not count.
Result<bool> RecordSync::IsOurTurn(const RecordCursor& head) {
  const auto nodes = store_.ListNodes();
  if (!nodes) return nodes.error();
  return std::ranges::none_of(*nodes, [&](const NodeRecord& node) {
    return node.id != node_ && now_ - node.last_seen <= kNodeTimeout &&
           (!node.records_from_copy || head.sequence == 0) &&
           IsLater(node.records, table_.cursor());
  });
}

std::optional<Error> RecordSync::Restore() {
  const auto found = ReadTable();
  if (!found) return found.error();
  const RecordCursor& ours = table_.cursor();
  const RecordCursor& theirs = found->cursor();
  const RecordCursor base{.epoch = std::max(ours.epoch, theirs.epoch) + 1,
                          .sequence = std::max(ours.sequence, theirs.sequence)};
  const std::vector<Record> merged = Merge(*found, table_, now_);
  const std::string message = "store had lost records: it was at " + PositionText(theirs) +
                              ", this node at " + PositionText(ours);
  const auto restored = store_.RestoreRecords(merged, theirs, base,
                                              {.time = now_,
                                               .origin = ServerOrigin(address_),
                                               .action = "records.recover",
                                               .target = std::to_string(merged.size()) + " records",
                                               .message = message,
                                               .node = node_});
  if (!restored) return restored.error();
  if (restored->outcome != RecordWriteOutcome::kWritten) return std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    ++stats_.restores;
  }
  hooks_.on_event({.kind = SyncEventKind::kRecordsRestored,
                   .message = message + "; stored " + std::to_string(merged.size()) +
                              " records as " + PositionText(restored->cursor)});
  return std::nullopt;
}

// Records whose time has come are reported as removed.
void RecordSync::CollectExpired() {
  if (now_ <= expired_until_) return;
  table_.VisitExpiring(std::exchange(expired_until_, now_), now_, [this](const Record& record) {
    Record removed = record;
    removed.removed = true;
    removed.text.clear();
    pending_[KeyOf(record.kind, record.id)] = std::move(removed);
  });
}

// Removes expired records from the store. A record that was renewed meanwhile is a conflict.
void RecordSync::Purge(SteadyTime now) {
  const std::vector<Record> expired = table_.ListExpired(now_, kMaxPurge);
  if (expired.empty()) return purge_at_.reset();
  if (!purge_at_) {
    const auto spread = static_cast<std::uint64_t>(kPurgeSpread.count());
    purge_at_ = now + Micros(static_cast<std::int64_t>(hooks_.random() % spread));
    return;
  }
  if (now < *purge_at_) return;
  purge_at_ = now + kPurgeRetry;
  for (const RecordKindInfo& kind : kRecordKinds) {
    std::vector<RecordWrite> writes;
    for (const Record& record : expired) {
      if (record.kind != kind.kind) continue;
      writes.push_back({.kind = record.kind, .id = record.id, .remove = true, .expected = 0});
    }
    if (writes.empty()) continue;
    (void)store_.WriteRecords(writes, {.time = now_,
                                       .origin = ServerOrigin(address_),
                                       .action = std::string(kind.name) + ".expire",
                                       .target = JoinIds(writes),
                                       .node = node_});
  }
}

std::optional<SteadyTime> RecordSync::Deliver(SteadyTime now) {
  if (!pending_complete_ && pending_.empty()) {
    const std::lock_guard lock(mutex_);
    delivered_ = table_.cursor();
    delivery_.notify_all();
    return std::nullopt;
  }
  if (last_delivery_ && now < *last_delivery_ + kMinDeliveryInterval) {
    return *last_delivery_ + kMinDeliveryInterval;
  }
  RecordChanges changes{.complete = std::exchange(pending_complete_, false),
                        .cursor = table_.cursor()};
  if (changes.complete) {
    changes.records = table_.List();
    std::erase_if(changes.records, [this](const Record& record) { return record.IsExpired(now_); });
  } else {
    for (auto& [key, record] : pending_) changes.records.push_back(std::move(record));
  }
  pending_.clear();
  last_delivery_ = now;
  if (hooks_.on_changes) hooks_.on_changes(changes);
  const std::lock_guard lock(mutex_);
  ++stats_.deliveries;
  delivered_ = changes.cursor;
  delivery_.notify_all();
  return std::nullopt;
}

void RecordSync::SaveCopy(const std::vector<Record>& changes, bool complete) {
  if (copy_ == nullptr) return;
  const auto error = copy_->SaveRecords(table_, changes, complete || copy_failed_);
  if (!error) {
    copy_failed_ = false;
    return;
  }
  if (std::exchange(copy_failed_, true)) return;
  hooks_.on_event(
      {.kind = SyncEventKind::kCopyFailed,
       .message = "copy of the records not saved, a restart without the store would use an earlier "
                  "one: " +
                  error->message});
}

void RecordSync::SetError(const std::optional<Error>& error) {
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    changed = stats_.up != !error;
    stats_.up = !error;
    stats_.last_error = error ? error->message : std::string();
  }
  if (!changed) return;
  hooks_.on_event(
      {.kind = error ? SyncEventKind::kRecordsFailed : SyncEventKind::kRecordsRecovered,
       .message =
           error ? "records can't be read from the store, keeping those in use: " + error->message
                 : std::string("records are read from the store again")});
}

void RecordSync::Describe(NodeRecord& node) const {
  node.records = table_.cursor();
  node.records_from_copy = from_copy_;
}

std::optional<Record> RecordSync::Find(RecordKind kind, std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const Record* const found = table_.Find(kind, id);
  if (found == nullptr || found->IsExpired(listed_at_)) return std::nullopt;
  return *found;
}

std::vector<Record> RecordSync::List(RecordKind kind, std::string_view after, std::size_t limit,
                                     const std::function<bool(const Record&)>& filter) const {
  const std::lock_guard lock(mutex_);
  return table_.ListOf(kind, after, limit, listed_at_, filter);
}

RecordStats RecordSync::Stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

bool RecordSync::AwaitDelivery(const RecordCursor& cursor, Micros timeout) {
  std::unique_lock lock(mutex_);
  delivery_.wait_for(lock, timeout, [&] { return stopped_ || !IsLater(cursor, delivered_); });
  return !IsLater(cursor, delivered_);
}

void RecordSync::StopWaits() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  delivery_.notify_all();
}

}  // namespace sluice::control

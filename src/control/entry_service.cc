#include "control/entry_service.h"

#include <algorithm>
#include <utility>

#include "match/entry_text.h"

namespace sluice::control {
namespace {

using match::Entry;
using match::EntryCondition;

bool Matches(const Entry& entry, const EntryQuery& query) {
  const std::string_view wanted = query.match;
  if (wanted.empty()) return true;
  const std::size_t equals = wanted.find('=');
  return std::any_of(entry.match.begin(), entry.match.end(), [&](const EntryCondition& condition) {
    if (equals == std::string_view::npos) {
      return query.parts_of_values ? condition.value.find(wanted) != std::string::npos
                                   : condition.value == wanted;
    }
    return condition.attribute == wanted.substr(0, equals) &&
           condition.value == wanted.substr(equals + 1);
  });
}

std::vector<RecordWrite> WritesOf(const EntryChange& change) {
  std::vector<RecordWrite> writes;
  writes.reserve(change.put.size() + change.remove.size());
  for (const Entry& entry : change.put) {
    RecordWrite& write = writes.emplace_back();
    write.kind = RecordKind::kEntry;
    write.id = entry.id;
    write.text = match::StoredText(entry);
    if (entry.expires_at != Entry::kNever) write.expires_at = entry.expires_at;
  }
  for (const std::string& id : change.remove) {
    RecordWrite& write = writes.emplace_back();
    write.kind = RecordKind::kEntry;
    write.id = id;
    write.remove = true;
  }
  if (writes.size() == 1) writes.front().expected = change.expected;
  return writes;
}

}  // namespace

EntryService::EntryService(Live<match::EntrySet>& live, EntryServiceHooks hooks)
    : live_(live), hooks_(std::move(hooks)) {}

void EntryService::Apply(std::span<const Record> records, bool complete) {
  std::vector<std::pair<std::string, std::string>> unreadable;
  {
    const std::lock_guard lock(mutex_);
    bool changed = complete;
    match::EntryTable all;
    match::EntryTable& table = complete ? all : table_;
    for (const Record& record : records) {
      if (record.kind != RecordKind::kEntry) continue;
      changed = true;
      if (record.removed) {
        table.Remove(record.id);
        continue;
      }
      match::EntryReadResult read = match::ReadStoredEntry(record.id, record.text);
      if (read.entry) {
        table.Put(*std::move(read.entry));
        continue;
      }
      // Better without it than with what it was before.
      table.Remove(record.id);
      unreadable.emplace_back(record.id, read.error.field + ": " + read.error.message);
    }
    if (complete) table_.Replace(std::move(all));
    if (!changed) return;
    live_.Load("entries", {}, hooks_.now(),
               [&]() -> LiveCandidate<match::EntrySet> { return {.value = table_.Snapshot()}; });
  }
  if (!hooks_.on_unreadable) return;
  for (const auto& [id, error] : unreadable) hooks_.on_unreadable(id, error);
}

std::shared_ptr<const match::LiveEntry> EntryService::Find(std::string_view id) const {
  const WallTime now = hooks_.now();
  const std::lock_guard lock(mutex_);
  auto found = table_.Find(id);
  return found != nullptr && found->entry.expires_at > now ? found : nullptr;
}

EntryPage EntryService::List(const EntryQuery& query) const {
  const WallTime now = hooks_.now();
  EntryPage page;
  const std::lock_guard lock(mutex_);
  table_.Visit(query.after, [&](const std::shared_ptr<const match::LiveEntry>& live) {
    const Entry& entry = live->entry;
    if (entry.expires_at <= now || (query.effect && entry.effect != *query.effect) ||
        !Matches(entry, query)) {
      return true;
    }
    if (page.entries.size() == query.limit) {
      page.next = page.entries.back()->entry.id;
      return false;
    }
    page.entries.push_back(live);
    return true;
  });
  return page;
}

match::EntryCounts EntryService::Counts() const {
  const std::lock_guard lock(mutex_);
  return table_.counts();
}

std::shared_ptr<const match::EntrySet> EntryService::Current() const {
  return live_.Active().value;
}

std::shared_ptr<const match::EntrySet> EntryService::Preview(const EntryChange& change) const {
  match::EntryTable preview;
  {
    const std::lock_guard lock(mutex_);
    table_.Visit({}, [&](const std::shared_ptr<const match::LiveEntry>& live) {
      preview.Put(live->entry);
      return true;
    });
  }
  for (const Entry& entry : change.put) preview.Put(entry);
  for (const std::string& id : change.remove) preview.Remove(id);
  return preview.Snapshot();
}

EntryChangeResult EntryService::Check(const EntryChange& change) const {
  EntryChangeResult result;
  const WallTime now = hooks_.now();
  const auto exists = [&](const std::string& id) {
    const auto found = table_.Find(id);
    return found != nullptr && found->entry.expires_at > now;
  };
  const std::lock_guard lock(mutex_);
  for (const std::string& id : change.remove) {
    if (!exists(id)) return {.outcome = EntryOutcome::kNotFound, .message = id};
    ++result.removed;
  }
  for (const Entry& entry : change.put) ++(exists(entry.id) ? result.replaced : result.created);
  result.message = table_.RefusalOf(change.put, change.remove);
  if (!result.message.empty()) result.outcome = EntryOutcome::kTooMany;
  return result;
}

EntryChangeResult EntryService::Change(RecordService& records, const EntryChange& change) const {
  EntryChangeResult result = Check(change);
  if (result.outcome != EntryOutcome::kDone || change.dry_run) return result;
  const std::vector<RecordWrite> writes = WritesOf(change);
  if (writes.empty()) return result;
  const auto changed = records.Write(writes, change.audit);
  if (!changed) {
    result.outcome = EntryOutcome::kFailed;
    result.message = changed.error().message;
    return result;
  }
  const RecordWriteResult& written = changed->written;
  if (written.outcome == RecordWriteOutcome::kConflict) {
    result.outcome = EntryOutcome::kConflict;
    return result;
  }
  if (written.outcome != RecordWriteOutcome::kWritten) {
    result.outcome = EntryOutcome::kTooMany;
    result.message = "the control store has no room for more entries";
    return result;
  }
  result.first_sequence = written.first_sequence;
  result.cursor = written.cursor;
  result.replicated = written.replicated;
  return result;
}

}  // namespace sluice::control

#include "control/disk/disk_store.h"

#include <ranges>
#include <string_view>
#include <utility>

#include "base/fingerprint.h"
#include "control/record_text.h"

namespace sluice::control {
namespace {

constexpr std::string_view kCurrent = "current";
constexpr std::string_view kVersions = "versions";

std::string NameOfVersion(const VersionId& id) { return std::string(kVersions) + '/' + ToText(id); }

/// The content of `current`: two records, and the hash of both.
struct Pointer {
  VersionInfo version{};
  AuditRecord record{};
};

std::string PointerText(const Pointer& pointer) {
  std::string text = ToJson(pointer.version) + '\n' + ToJson(pointer.record) + '\n';
  return text + Fingerprint(text) + '\n';
}

Result<Pointer> ParsePointer(std::string_view text) {
  const std::size_t first = text.find('\n');
  const std::size_t second = first == std::string_view::npos ? first : text.find('\n', first + 1);
  if (second == std::string_view::npos) {
    return Error{ErrorCode::kForeignValue, "not a pointer to a version"};
  }
  // First, for an error that says so if the format is newer.
  auto version = ParseVersionInfo(text.substr(0, first));
  if (!version) return version.error();
  if (text.substr(second + 1) != Fingerprint(text.substr(0, second + 1)) + '\n') {
    return Error{ErrorCode::kForeignValue, "does not match its checksum"};
  }
  auto record = ParseAuditRecord(text.substr(first + 1, second - first - 1));
  if (!record) return record.error();
  return Pointer{.version = std::move(*version), .record = std::move(*record)};
}

}  // namespace

Result<std::unique_ptr<DiskStore>> DiskStore::Open(StateDirectory& directory, const Clock& clock) {
  if (auto error = directory.MakeDirectory(kVersions)) return *error;
  auto audit = AuditLog::Open(directory);
  if (!audit) return audit.error();
  std::unique_ptr<DiskStore> store(new DiskStore(directory, clock, std::move(*audit)));
  if (auto error = store->LoadCurrent()) return *error;
  if (auto error = store->LoadVersions()) return *error;
  if (auto error = store->LoadRecords()) return *error;
  (void)store->AppendPending();  // A full disk does not prevent reading.
  return store;
}

std::optional<Error> DiskStore::LoadCurrent() {
  const auto content = directory_.Read(kCurrent);
  if (!content) return content.error();
  if (!*content) return std::nullopt;
  auto pointer = ParsePointer(**content);
  if (!pointer) {
    return Error{pointer.error().code, directory_.PathOf(kCurrent) + ": " +
                                           pointer.error().message +
                                           "; remove the file to go on with the newest version"};
  }
  current_ = pointer->version.ref;
  if (pointer->record.sequence > audit_.last().sequence) pending_ = std::move(pointer->record);
  return std::nullopt;
}

// Loads the information of all versions, and removes those whose commit did not complete. Without a
// pointer the newest version becomes the current one: it is that of a first commit that did not
// complete, or the pointer was removed.
std::optional<Error> DiskStore::LoadVersions() {
  const auto names = directory_.List(kVersions);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    const auto id = ParseVersionId(name);
    if (!id || id->epoch == 0) continue;
    if (current_ && *id > current_->id) {
      if (auto error = directory_.Remove(NameOfVersion(*id))) return error;
      continue;
    }
    const auto beginning = directory_.ReadBeginning(NameOfVersion(*id), kMaxInfoBytes + 1);
    if (!beginning) return beginning.error();
    auto info = ParseVersionFileInfo(*beginning);
    if (info && info->ref.id == *id) versions_.emplace(*id, std::move(*info));
  }
  if (!current_ && !versions_.empty()) {
    const VersionInfo& newest = versions_.rbegin()->second;
    const AuditRecord record =
        NextRecord(audit_.last(), {.time = clock_.Now(),
                                   .origin = {.author = "sluice", .authentication = "server"},
                                   .action = "rules.recover",
                                   .target = ToText(newest.ref.id),
                                   .message = "pointer to the current version was missing"});
    if (auto error = ReplaceCurrent(newest, record)) return error;
    current_ = newest.ref;
    pending_ = record;
  }
  TrimVersions();
  return std::nullopt;
}

Result<std::optional<VersionRef>> DiskStore::ReadCurrent() {
  const std::lock_guard lock(mutex_);
  return current_;
}

Result<StoreHead> DiskStore::ReadHead() {
  const std::lock_guard lock(mutex_);
  return StoreHead{.version = current_, .records = records_.cursor()};
}

Result<std::optional<Version>> DiskStore::ReadVersion(const VersionId& id) {
  const std::lock_guard lock(mutex_);
  VersionId wanted = id;
  if (id.epoch == 0) {
    for (const auto& [kept, info] : versions_) {
      if (kept.number == id.number) wanted = kept;
    }
  }
  if (!versions_.contains(wanted) && !(current_ && current_->id == wanted)) {
    return std::optional<Version>();
  }
  const std::string name = NameOfVersion(wanted);
  const auto content = directory_.Read(name);
  if (!content) return content.error();
  if (!*content) {
    return Error{ErrorCode::kStoreError, directory_.PathOf(name) + ": file is missing"};
  }
  auto version = ParseVersionFile(**content);
  if (!version) {
    return Error{version.error().code, directory_.PathOf(name) + ": " + version.error().message};
  }
  return std::optional(std::move(*version));
}

Result<std::vector<VersionInfo>> DiskStore::ListVersions() {
  const std::lock_guard lock(mutex_);
  std::vector<VersionInfo> list;
  list.reserve(versions_.size());
  for (const auto& [id, info] : std::views::reverse(versions_)) list.push_back(info);
  return list;
}

Result<CommitResult> DiskStore::Commit(const Version& version,
                                       const std::optional<VersionRef>& expected,
                                       const AuditEvent& event) {
  if (auto problem = FindCommitProblem(version, expected)) return *problem;
  auto result = [&] {
    const std::lock_guard lock(mutex_);
    return CommitLocked(version, expected, event);
  }();
  if (result && result->committed) notifier_.Notify();
  return result;
}

Result<CommitResult> DiskStore::CommitLocked(const Version& version,
                                             const std::optional<VersionRef>& expected,
                                             const AuditEvent& event) {
  if (expected != current_) return CommitResult{.current = current_.value_or(VersionRef{})};
  // `current` has room for one record that is not in the log.
  if (auto error = AppendPending()) return *error;
  const AuditRecord record = NextRecord(audit_.last(), event);
  const std::string name = NameOfVersion(version.info.ref.id);
  auto error = directory_.Replace(name, ToFile(version));
  if (!error) error = ReplaceCurrent(version.info, record);
  if (error) {
    (void)directory_.Remove(name);  // The next Open removes it otherwise.
    return *error;
  }
  current_ = version.info.ref;
  versions_[version.info.ref.id] = version.info;
  pending_ = record;
  (void)AppendPending();  // Committed already: after an error it is appended later.
  TrimVersions();
  return CommitResult{.committed = true, .current = *current_};
}

// Succeeds if the new content is in place, even if it could not be synced.
std::optional<Error> DiskStore::ReplaceCurrent(const VersionInfo& info, const AuditRecord& record) {
  const std::string text = PointerText(Pointer{.version = info, .record = record});
  auto error = directory_.Replace(kCurrent, text);
  if (!error) return std::nullopt;
  const auto found = directory_.Read(kCurrent);
  return found && *found == text ? std::nullopt : error;
}

std::optional<Error> DiskStore::AppendPending() {
  if (!pending_) return std::nullopt;
  if (auto error = audit_.Append(*pending_)) return error;
  pending_.reset();
  return std::nullopt;
}

void DiskStore::TrimVersions() {
  while (versions_.size() > kVersionsKept) {
    if (directory_.Remove(NameOfVersion(versions_.begin()->first))) return;  // With the next one.
    versions_.erase(versions_.begin());
  }
}

Result<AuditRecord> DiskStore::AppendAudit(const AuditEvent& event) {
  const std::lock_guard lock(mutex_);
  if (auto error = AppendPending()) return *error;
  AuditRecord record = NextRecord(audit_.last(), event);
  if (auto error = audit_.Append(record)) return *error;
  return record;
}

Result<std::vector<AuditRecord>> DiskStore::ReadAudit(std::uint64_t before, std::size_t count) {
  const std::lock_guard lock(mutex_);
  std::vector<AuditRecord> records;
  if (pending_ && count > 0 && (before == 0 || pending_->sequence < before)) {
    records.push_back(*pending_);
    --count;
  }
  auto logged = audit_.Read(before, count);
  if (!logged) return logged;
  records.insert(records.end(), std::make_move_iterator(logged->begin()),
                 std::make_move_iterator(logged->end()));
  return records;
}

Result<WallTime> DiskStore::WriteNode(const NodeRecord& node) {
  const std::lock_guard lock(mutex_);
  const WallTime now = clock_.Now();
  nodes_[node.id] = node;
  nodes_[node.id].last_seen = now;
  return now;
}

Result<bool> DiskStore::RemoveNode(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return nodes_.erase(id) > 0;
}

Result<std::vector<NodeRecord>> DiskStore::ListNodes() {
  const std::lock_guard lock(mutex_);
  const WallTime now = clock_.Now();
  std::erase_if(nodes_,
                [&](const auto& node) { return now - node.second.last_seen > kNodeListed; });
  std::vector<NodeRecord> list;
  for (const auto& [id, node] : nodes_) list.push_back(node);
  return list;
}

Result<WallTime> DiskStore::Now() { return clock_.Now(); }

void DiskStore::OnNotification(std::function<void()> callback) {
  notifier_.Set(std::move(callback));
}

}  // namespace sluice::control

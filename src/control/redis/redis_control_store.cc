#include "control/redis/redis_control_store.h"

#include <algorithm>
#include <utility>

#include "base/fingerprint.h"
#include "base/parse_number.h"
#include "base/random.h"
#include "control/record_text.h"
#include "control/redis/replies.h"
#include "control/redis/scripts.h"
#include "resp/encoder.h"

namespace sluice::control {
namespace {

constexpr std::string_view kReplicaWait = "500";  // ms
std::string PointerOf(const VersionRef& ref) {
  return std::string(kPointerFormat) + ' ' + ToText(ref.id) + ' ' + ref.hash;
}

Result<VersionInfo> ParseStoredInfo(std::string_view value) {
  (void)TakeWord(value);  // The nonce.
  return ParseVersionInfo(value);
}

}  // namespace

RedisControlStore::RedisControlStore(RedisControlOptions options)
    : options_([&] {
        // Calls are few: a breaker would only delay the first one after a failure.
        options.redis.breaker.enabled = false;
        return std::move(options);
      }()),
      channel_("sluice:v1:control:{" + options_.name + '}'),
      current_(channel_ + ":current"),
      versions_(channel_ + ":versions"),
      texts_(channel_ + ":texts"),
      ids_(channel_ + ":ids"),
      audit_(channel_ + ":audit"),
      nodes_(channel_ + ":nodes"),
      seen_(channel_ + ":seen"),
      state_(channel_ + ":state"),
      records_(channel_ + ":records"),
      changes_(channel_ + ":changes"),
      removed_(channel_ + ":removed"),
      writes_(channel_ + ":writes"),
      client_(options_.redis) {}

RedisControlStore::~RedisControlStore() {
  client_.thread().Do([this] { subscription_.reset(); });
}

void RedisControlStore::OnNotification(std::function<void()> callback) {
  const bool wanted = static_cast<bool>(callback);
  notifier_.Set(std::move(callback));
  if (!wanted) return;
  client_.thread().Do([this] {
    if (subscription_) return;
    subscription_ = std::make_unique<redis::Subscription>(
        client_.thread().loop(), options_.redis, std::vector{channel_},
        redis::Subscriber::Events{
            .on_message = [this](std::string_view, std::string_view) { notifier_.Notify(); },
            .on_subscribed = [this] { notifier_.Notify(); },
            .on_refused =
                [this](std::string_view error) {
                  if (options_.on_notifications_refused) options_.on_notifications_refused(error);
                }});
  });
}

RedisControlStore::Reply RedisControlStore::Call(std::span<const std::string_view> command) {
  std::string encoded;
  resp::AppendCommand(encoded, command);
  redis::CallResult result = client_.Call(encoded, options_.timeout, current_);
  if (auto error = ErrorOf(result)) return *error;
  return result;
}

RedisControlStore::Reply RedisControlStore::Call(std::initializer_list<std::string_view> command) {
  return Call(std::span(command.begin(), command.size()));
}

Error RedisControlStore::Describe(const Error& error, std::string_view key) const {
  return {error.code, std::string(key) + ": " + error.message};
}

Result<std::optional<VersionRef>> RedisControlStore::ReadCurrent() {
  const auto reply = Call({"GET", current_});
  if (!reply) return reply.error();
  if (reply->reply().is_null()) return std::optional<VersionRef>();
  auto ref = ParseRedisPointer(reply->reply().text());
  if (!ref) return Describe(ref.error(), current_);
  return std::optional(std::move(*ref));
}

Result<std::optional<VersionId>> RedisControlStore::FindNewest(std::uint64_t number) {
  const auto reply = Call({"LRANGE", ids_, "0", "-1"});
  if (!reply) return reply.error();
  std::optional<VersionId> newest;
  for (const resp::Value value : reply->reply()) {
    const auto id = ParseVersionId(value.text());
    if (id && id->number == number) newest = id;
  }
  return newest;
}

Result<std::optional<Version>> RedisControlStore::ReadVersion(const VersionId& id) {
  std::optional<VersionId> wanted = id;
  if (id.epoch == 0) {
    auto newest = FindNewest(id.number);
    if (!newest) return newest.error();
    if (!*newest) return std::optional<Version>();
    wanted = *newest;
  }
  const std::string field = ToText(*wanted);
  const auto info_reply = Call({"HGET", versions_, field});
  if (!info_reply) return info_reply.error();
  if (info_reply->reply().is_null()) return std::optional<Version>();
  auto info = ParseStoredInfo(info_reply->reply().text());
  if (!info) return Describe(info.error(), versions_ + ' ' + field);
  const auto text = Call({"HGET", texts_, field});
  if (!text) return text.error();
  if (text->reply().is_null()) return std::optional<Version>();  // Trimmed meanwhile.
  if (info->ref.id != *wanted || Fingerprint(text->reply().text()) != info->ref.hash) {
    return Error{ErrorCode::kForeignValue, texts_ + ' ' + field + ": text does not match its hash"};
  }
  return std::optional(
      Version{.info = std::move(*info), .text = std::string(text->reply().text())});
}

Result<std::vector<VersionInfo>> RedisControlStore::ListVersions() {
  const auto reply = Call({"HVALS", versions_});
  if (!reply) return reply.error();
  std::vector<VersionInfo> list;
  for (const resp::Value value : reply->reply()) {
    auto info = ParseStoredInfo(value.text());
    if (!info) return Describe(info.error(), versions_);
    list.push_back(std::move(*info));
  }
  std::ranges::sort(list, std::greater(), [](const VersionInfo& info) { return info.ref.id; });
  return list;
}

Result<std::string> RedisControlStore::ReadLastRecord() {
  const auto reply = Call({"LINDEX", audit_, "-1"});
  if (!reply) return reply.error();
  return std::string(reply->reply().text());
}

Result<CommitResult> RedisControlStore::Commit(const Version& version,
                                               const std::optional<VersionRef>& expected,
                                               const AuditEvent& event) {
  if (auto problem = FindCommitProblem(version, expected)) return *problem;
  const std::string expected_pointer = expected ? PointerOf(*expected) : "";
  const std::string pointer = PointerOf(version.info.ref);
  const std::string id = ToText(version.info.ref.id);
  const std::string nonce = std::to_string(RandomId());
  const std::string stored_info = nonce + ' ' + ToJson(version.info);
  const std::string versions_kept = std::to_string(kVersionsKept);
  const std::string records_kept = std::to_string(kAuditRecordsKept);
  auto last_text = ReadLastRecord();
  for (int attempt = 0; attempt < kMaxAppendAttempts; ++attempt) {
    if (!last_text) return last_text.error();
    const auto last = ParseLastRecord(*last_text);
    if (!last) return Describe(last.error(), audit_);
    const std::string record = ToJson(NextRecord(*last, event));
    const std::uint64_t connects = client_.StatsApprox().connects;
    const auto reply = Call({"EVAL", kCommitScript, "5", current_, versions_, texts_, ids_, audit_,
                             expected_pointer, pointer, id, stored_info, version.text, *last_text,
                             record, versions_kept, records_kept, channel_});
    if (!reply) {
      // It may have run: the nonce shows whether it has.
      if (reply.error().code != ErrorCode::kStoreTimeout ||
          !HasHappened(version.info.ref.id, nonce)) {
        return reply.error();
      }
      return CommitResult{
          .committed = true, .current = version.info.ref, .replicated = AwaitReplica(0)};
    }
    const resp::Value value = reply->reply();
    if (value.size() != 3) return UnexpectedReply(value);
    switch (static_cast<ScriptStatus>(value.at(0).integer())) {
      case ScriptStatus::kDone:
        return CommitResult{
            .committed = true, .current = version.info.ref, .replicated = AwaitReplica(connects)};
      case ScriptStatus::kOtherPointer: {
        if (value.at(1).text().empty()) return CommitResult{};
        auto current = ParseRedisPointer(value.at(1).text());
        if (!current) return Describe(current.error(), current_);
        return CommitResult{.current = std::move(*current)};
      }
      default:
        last_text = std::string(value.at(2).text());
    }
  }
  return Error{ErrorCode::kStoreUnavailable, audit_ + ": too many changes at the same time"};
}

bool RedisControlStore::HasHappened(const VersionId& id, std::string_view nonce) {
  const auto reply = Call({"HGET", versions_, ToText(id)});
  if (!reply) return false;
  std::string_view value = reply->reply().text();
  return TakeWord(value) == nonce;
}

// Whether a replica has the last write; nothing: there is no replica, or no permission to ask. WAIT
// is about the writes of its own connection: it proves nothing if there was a new one since, of
// which the number of connects tells. 0: not known.
std::optional<bool> RedisControlStore::AwaitReplica(std::uint64_t connects) {
  const auto role = Call({"ROLE"});
  if (!role || role->reply().size() < 3 || role->reply().at(2).size() == 0) return std::nullopt;
  const auto wait = Call({"WAIT", "1", kReplicaWait});
  return wait && wait->reply().integer() >= 1 && connects != 0 &&
         client_.StatsApprox().connects == connects;
}

Result<AuditRecord> RedisControlStore::AppendAudit(const AuditEvent& event) {
  const std::string records_kept = std::to_string(kAuditRecordsKept);
  auto last_text = ReadLastRecord();
  for (int attempt = 0; attempt < kMaxAppendAttempts; ++attempt) {
    if (!last_text) return last_text.error();
    const auto last = ParseLastRecord(*last_text);
    if (!last) return Describe(last.error(), audit_);
    AuditRecord record = NextRecord(*last, event);
    const auto reply =
        Call({"EVAL", kAppendScript, "1", audit_, *last_text, ToJson(record), records_kept});
    if (!reply) {
      if (reply.error().code != ErrorCode::kStoreTimeout) return reply.error();
      const auto found = ReadAudit(record.sequence + 1, 1);
      if (found && !found->empty() && found->front().hash == record.hash) return record;
      return reply.error();
    }
    if (reply->reply().size() != 2) return UnexpectedReply(reply->reply());
    if (reply->reply().at(0).integer() == static_cast<int>(ScriptStatus::kDone)) return record;
    last_text = std::string(reply->reply().at(1).text());
  }
  return Error{ErrorCode::kStoreUnavailable, audit_ + ": too many changes at the same time"};
}

Result<std::vector<AuditRecord>> RedisControlStore::ReadAudit(std::uint64_t before,
                                                              std::size_t count) {
  std::vector<AuditRecord> records;
  if (count == 0) return records;
  const auto reply = Call({"EVAL", kReadAuditScript, "1", audit_, std::to_string(before),
                           std::to_string(std::min(count, kAuditRecordsKept))});
  if (!reply) return reply.error();
  for (const resp::Value value : reply->reply()) {
    auto record = ParseAuditRecord(value.text());
    if (!record) return Describe(record.error(), audit_);
    records.push_back(std::move(*record));
  }
  std::ranges::reverse(records);
  return records;
}

Result<WallTime> RedisControlStore::WriteNode(const NodeRecord& node) {
  const auto reply = Call({"EVAL", kWriteNodeScript, "2", nodes_, seen_, node.id, ToJson(node),
                           std::to_string(kNodeListed.count())});
  if (!reply) return reply.error();
  const auto time = ParseNumber<std::int64_t>(reply->reply().text());
  if (!time) return UnexpectedReply(reply->reply());
  return WallTime{Micros{*time}};
}

Result<bool> RedisControlStore::RemoveNode(const std::string& id) {
  const auto reply = Call({"EVAL", kRemoveNodeScript, "2", nodes_, seen_, id});
  if (!reply) return reply.error();
  return reply->reply().integer() > 0;
}

Result<std::vector<NodeRecord>> RedisControlStore::ListNodes() {
  const auto reply = Call({"HGETALL", nodes_});
  if (!reply) return reply.error();
  std::vector<NodeRecord> list;
  std::string_view id;
  bool is_value = false;
  for (const resp::Value value : reply->reply()) {
    std::string_view text = value.text();
    if (!std::exchange(is_value, !is_value)) {
      id = text;
      continue;
    }
    const auto seen = ParseNumber<std::int64_t>(TakeWord(text));
    // The record of a newer build may be unreadable; the node is there nevertheless.
    auto node = ParseNodeRecord(text);
    list.push_back(node ? std::move(*node) : NodeRecord{.id = std::string(id)});
    list.back().last_seen = WallTime{Micros{seen.value_or(0)}};
  }
  std::ranges::sort(list, {}, &NodeRecord::id);
  return list;
}

Result<WallTime> RedisControlStore::Now() {
  const auto reply = Call({"TIME"});
  if (!reply) return reply.error();
  if (reply->reply().size() != 2) return UnexpectedReply(reply->reply());
  const auto seconds = reply->reply().at(0).ToInteger();
  const auto micros = reply->reply().at(1).ToInteger();
  if (!seconds || !micros) return UnexpectedReply(reply->reply());
  return WallTime{std::chrono::seconds(*seconds) + Micros(*micros)};
}

}  // namespace sluice::control

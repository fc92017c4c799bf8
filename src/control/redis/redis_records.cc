// Records and reports of nodes in Redis.

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/parse_number.h"
#include "base/random.h"
#include "control/record_text.h"
#include "control/redis/record_scripts.h"
#include "control/redis/redis_control_store.h"
#include "control/redis/replies.h"

namespace sluice::control {
namespace {

constexpr std::uint64_t kRecordsFormat = 1;
/// Records of one call while a store is restored.
constexpr std::size_t kStagedRecords = 1'000;
/// A restore that does not complete leaves nothing behind after this time.
constexpr std::string_view kStagedMillis = "60000";
/// Records of one script: about five milliseconds, in which Redis does nothing else.
constexpr std::size_t kPortion = 500;
/// Values of a staged write.
constexpr std::size_t kWriteValues = 5;
/// Staged writes that are not committed vanish after kStagedMillis, and committed ones after a day
/// in which no process has stored them.
constexpr std::string_view kCommittedMillis = "86400000";
/// A batch without progress for this time is stored by another process.
constexpr Micros kBatchIdle = std::chrono::seconds(2);
constexpr Micros kBatchTimeout = std::chrono::seconds(10);
constexpr Micros kBatchPause = std::chrono::milliseconds(10);
/// Replies before the records of kReadRecordsScript.
constexpr std::size_t kPageHeader = 9;

std::string MicrosText(WallTime time) { return std::to_string(time.time_since_epoch().count()); }

std::optional<WallTime> ParseMicros(std::string_view text) {
  const auto micros = ParseNumber<std::int64_t>(text);
  return micros ? std::optional(WallTime{Micros{*micros}}) : std::nullopt;
}

std::string ExpiryText(const std::optional<WallTime>& expires_at) {
  return expires_at ? MicrosText(*expires_at) : "0";
}

std::uint64_t NumberOf(resp::Value value) {
  return ParseNumber<std::uint64_t>(value.text()).value_or(0);
}

RecordCursor CursorOf(resp::Value epoch, resp::Value sequence, resp::Value time) {
  return {.epoch = NumberOf(epoch),
          .sequence = NumberOf(sequence),
          .time = ParseMicros(time.text()).value_or(WallTime{})};
}

std::optional<Error> FindFormatProblem(std::string_view format) {
  const auto number = ParseNumber<std::uint64_t>(format);
  if (format.empty() || (number && *number <= kRecordsFormat)) return std::nullopt;
  return Error{ErrorCode::kStoreError,
               "records of format " + std::string(format) + ", which is newer than this build"};
}

std::string ValueOf(const Record& record, std::uint64_t sequence) {
  return std::to_string(sequence) + ' ' + MicrosText(record.time) + ' ' +
         ExpiryText(record.expires_at) + " + " + record.text;
}

enum class BatchStatus : std::uint8_t { kNone, kComplete, kMore, kOfAnother, kLost };

std::string WithFunctions(std::string_view script) {
  return std::string(kStoreRecordsFunctions).append(script);
}

// Appends what scripts read of a write; texts that are made for it are kept in `texts`, which must
// have room.
void AppendWrite(const RecordWrite& write, std::vector<std::string>& texts,
                 std::vector<std::string_view>& command) {
  const auto keep = [&texts](std::string text) -> std::string_view {
    return texts.emplace_back(std::move(text));
  };
  command.push_back(keep(KeyOf(write.kind, write.id)));
  command.push_back(write.expected ? keep(std::to_string(*write.expected)) : "");
  command.push_back(write.remove ? "0" : keep(ExpiryText(write.expires_at)));
  command.push_back(write.remove ? "-" : "+");
  command.emplace_back(write.remove ? std::string_view() : write.text);
}

// Nothing: a kind that this build does not know.
Result<std::optional<Record>> ParseRecord(std::string_view key, std::string_view value,
                                          WallTime now) {
  const std::size_t colon = key.find(':');
  const auto sequence = ParseNumber<std::uint64_t>(TakeWord(value));
  const auto time = ParseMicros(TakeWord(value));
  const auto expires = ParseMicros(TakeWord(value));
  const std::string_view flag = TakeWord(value);
  if (colon == std::string_view::npos || !sequence || !time || !expires) {
    return Error{ErrorCode::kForeignValue, std::string(key) + ": not a record"};
  }
  const auto kind = ParseRecordKind(key.substr(0, colon));
  if (!kind) return std::optional<Record>();
  Record record{.kind = *kind,
                .id = std::string(key.substr(colon + 1)),
                .text = std::string(value),
                .sequence = *sequence,
                .time = *time};
  if (expires->time_since_epoch() > Micros{0}) record.expires_at = *expires;
  record.removed = flag != "+" || record.IsExpired(now);
  if (record.removed) record.text.clear();
  return std::optional(std::move(record));
}

}  // namespace

Result<StoreHead> RedisControlStore::ReadHead() {
  const auto reply = Call({"EVAL", kReadHeadScript, "2", current_, state_});
  if (!reply) return reply.error();
  const resp::Value value = reply->reply();
  if (value.size() != 8) return UnexpectedReply(value);
  // Its writer may have died. What fails here is tried again at the next reading.
  if (const std::string_view batch = value.at(6).text();
      !batch.empty() && Micros(static_cast<std::int64_t>(NumberOf(value.at(7)))) >= kBatchIdle) {
    static_cast<void>(CompleteBatch(batch, kBatchIdle));
  }
  StoreHead head{.now = ParseMicros(value.at(5).text()).value_or(WallTime{})};
  if (const std::string_view pointer = value.at(0).text(); !pointer.empty()) {
    auto ref = ParseRedisPointer(pointer);
    if (!ref) return Describe(ref.error(), current_);
    head.version = std::move(*ref);
  }
  if (auto problem = FindFormatProblem(value.at(1).text())) return Describe(*problem, state_);
  head.records = CursorOf(value.at(2), value.at(3), value.at(4));
  return head;
}

Result<RecordWriteResult> RedisControlStore::WriteRecords(std::span<const RecordWrite> writes,
                                                          const AuditEvent& event) {
  if (auto problem = FindRecordProblem(writes)) return *problem;
  const bool has_expected = std::any_of(writes.begin(), writes.end(),
                                        [](const RecordWrite& write) { return write.expected; });
  if (writes.size() > kPortion && !has_expected) {
    // Near the most records of a kind, only one script can tell whether there is room for all.
    auto result = WriteBatch(writes, event);
    if (!result || result->outcome != RecordWriteOutcome::kTooMany) return result;
  }
  static const std::string script = WithFunctions(kWriteRecordsScript);
  const std::string nonce = std::to_string(RandomId());
  // Strings of numbers and keys live as long as the call.
  std::vector<std::string> texts;
  texts.reserve(4 + 2 * kRecordKinds.size() + 3 * writes.size());
  const auto keep = [&texts](std::string text) -> std::string_view {
    return texts.emplace_back(std::move(text));
  };
  std::vector<std::string_view> command{"EVAL",   script,   "6",     state_, records_,
                                        changes_, removed_, writes_, audit_};
  const std::size_t last_at = command.size();
  command.insert(command.end(), {"", "", keep(std::to_string(kAuditRecordsKept)), channel_, nonce,
                                 keep(std::to_string(kRemovedRecordsKept)),
                                 keep(std::to_string(kRecordWritesKept)),
                                 keep(std::to_string(kRecordKinds.size()))});
  for (const RecordKindInfo& kind : kRecordKinds) {
    command.push_back(kind.name);
    command.push_back(keep(std::to_string(kind.max_records)));
  }
  for (const RecordWrite& write : writes) AppendWrite(write, texts, command);
  auto result =
      SendUntilAudited(event, nonce, [&](std::string_view last, const std::string& record) {
        command[last_at] = last;
        command[last_at + 1] = record;
        return Call(command);
      });
  if (result && result->outcome == RecordWriteOutcome::kWritten) {
    result->first_sequence = result->cursor.sequence - writes.size() + 1;
  }
  return result;
}

Result<RecordWriteResult> RedisControlStore::WriteBatch(std::span<const RecordWrite> writes,
                                                        const AuditEvent& event) {
  const std::string nonce = std::to_string(RandomId());
  const std::string staged = StagedKey(nonce);
  std::array<std::size_t, kRecordKinds.size()> puts{};
  for (const RecordWrite& write : writes) {
    if (!write.remove) ++puts[static_cast<std::size_t>(write.kind)];
  }
  for (std::size_t begin = 0; begin < writes.size(); begin += kPortion) {
    const auto portion = writes.subspan(begin).first(std::min(kPortion, writes.size() - begin));
    std::vector<std::string> texts;
    texts.reserve(kWriteValues * portion.size());
    std::vector<std::string_view> command{"RPUSH", staged};
    for (const RecordWrite& write : portion) AppendWrite(write, texts, command);
    if (const auto reply = Call(command); !reply) return reply.error();
    if (begin > 0) continue;
    if (const auto reply = Call({"PEXPIRE", staged, kStagedMillis}); !reply) return reply.error();
  }
  static const std::string script = WithFunctions(kCommitBatchScript);
  const std::string audits_kept = std::to_string(kAuditRecordsKept);
  const std::string values = std::to_string(kWriteValues * writes.size());
  std::vector<std::string> counts;
  for (const RecordKindInfo& kind : kRecordKinds) {
    counts.push_back(std::to_string(kind.max_records));
    counts.push_back(std::to_string(puts[static_cast<std::size_t>(kind.kind)]));
  }
  auto result =
      SendUntilAudited(event, nonce, [&](std::string_view last, const std::string& record) {
        std::vector<std::string_view> command{
            "EVAL", script, "7",  state_, records_,    changes_, removed_, writes_,
            audit_, staged, last, record, audits_kept, nonce,    values,   kCommittedMillis};
        for (std::size_t i = 0; i < kRecordKinds.size(); ++i) {
          command.insert(command.end(), {kRecordKinds[i].name, counts[2 * i], counts[2 * i + 1]});
        }
        return Call(command);
      });
  if (!result || result->outcome != RecordWriteOutcome::kWritten) {
    static_cast<void>(Call({"DEL", staged}));  // Else it vanishes by itself.
    return result;
  }
  const std::uint64_t connects = client_.StatsApprox().connects;
  if (auto error = CompleteBatch(nonce, Micros{0})) {
    error->message += "; the change is decided, and another server will store it";
    return *error;
  }
  const auto written = FindWrite(nonce);
  if (!written) {
    return Error{ErrorCode::kStoreUnavailable, state_ + ": the store has lost the change"};
  }
  return RecordWriteResult{.first_sequence = written->sequence - writes.size() + 1,
                           .cursor = *written,
                           .replicated = AwaitReplica(connects)};
}

std::optional<Error> RedisControlStore::CompleteBatch(std::string_view nonce, Micros idle) {
  static const std::string script = WithFunctions(kApplyBatchScript);
  const std::string staged = StagedKey(nonce);
  const std::string values = std::to_string(kWriteValues * kPortion);
  const std::string removed_kept = std::to_string(kRemovedRecordsKept);
  const std::string writes_kept = std::to_string(kRecordWritesKept);
  const SteadyTime give_up = SteadyClock::Now() + kBatchTimeout;
  Error last{ErrorCode::kStoreTimeout, state_ + ": a large write takes too long"};
  while (SteadyClock::Now() < give_up) {
    const auto reply =
        Call({"EVAL", script, "6", state_, records_, changes_, removed_, writes_, staged, nonce,
              values, removed_kept, writes_kept, channel_, std::to_string(idle.count())});
    if (!reply) {
      last = reply.error();
      const bool may_recover =
          last.code == ErrorCode::kStoreTimeout || last.code == ErrorCode::kStoreUnavailable;
      if (!may_recover) return last;
      std::this_thread::sleep_for(kBatchPause);
      continue;
    }
    switch (static_cast<BatchStatus>(reply->reply().integer())) {
      case BatchStatus::kMore:
        idle = Micros{0};  // It is ours now.
        break;
      case BatchStatus::kLost:
        return Error{ErrorCode::kStoreError, staged + ": the writes of a batch are gone"};
      default:
        return std::nullopt;
    }
  }
  return last;
}

std::optional<Error> RedisControlStore::AwaitBatch(std::string_view nonce) {
  const SteadyTime give_up = SteadyClock::Now() + kBatchTimeout;
  while (SteadyClock::Now() < give_up) {
    if (auto error = CompleteBatch(nonce, kBatchIdle)) return error;
    const auto pending = Call({"HGET", state_, "batch"});
    if (!pending) return pending.error();
    if (pending->reply().is_null() || pending->reply().text() != nonce) return std::nullopt;
    std::this_thread::sleep_for(kBatchPause);
  }
  return Error{ErrorCode::kStoreUnavailable, state_ + ": another large write takes too long"};
}

Result<RecordWriteResult> RedisControlStore::SendUntilAudited(const AuditEvent& event,
                                                              std::string_view nonce,
                                                              const SendRecords& send) {
  auto last_text = ReadLastRecord();
  for (int attempt = 0; attempt < kMaxAppendAttempts; ++attempt) {
    if (!last_text) return last_text.error();
    const auto last = ParseLastRecord(*last_text);
    if (!last) return Describe(last.error(), audit_);
    const std::string record = ToJson(NextRecord(*last, event));
    const std::uint64_t connects = client_.StatsApprox().connects;
    const Reply reply = send(*last_text, record);
    if (!reply) {
      // It may have run: the nonce shows whether it has.
      if (reply.error().code != ErrorCode::kStoreTimeout) return reply.error();
      const auto written = FindWrite(nonce);
      if (!written) return reply.error();
      return RecordWriteResult{.cursor = *written, .replicated = AwaitReplica(0)};
    }
    const resp::Value value = reply->reply();
    if (value.size() != 7) return UnexpectedReply(value);
    RecordWriteResult result{.cursor = CursorOf(value.at(1), value.at(2), value.at(3)),
                             .failed = static_cast<std::size_t>(value.at(5).integer()),
                             .found = NumberOf(value.at(6))};
    switch (static_cast<ScriptStatus>(value.at(0).integer())) {
      case ScriptStatus::kDone:
        result.replicated = AwaitReplica(connects);
        return result;
      case ScriptStatus::kOtherRecord:
        result.outcome = RecordWriteOutcome::kConflict;
        return result;
      case ScriptStatus::kTooManyRecords:
        result.outcome = RecordWriteOutcome::kTooMany;
        return result;
      case ScriptStatus::kBatchPending:
        if (auto error = AwaitBatch(value.at(6).text())) return *error;
        last_text = ReadLastRecord();
        break;
      default:
        last_text = std::string(value.at(4).text());
    }
  }
  return Error{ErrorCode::kStoreUnavailable, audit_ + ": too many changes at the same time"};
}

std::optional<RecordCursor> RedisControlStore::FindWrite(std::string_view nonce) {
  const auto state = Call({"HMGET", state_, "epoch", "batch"});
  const auto writes = Call({"ZRANGE", writes_, "-100", "-1"});
  if (!state || !writes || state->reply().size() != 2) return std::nullopt;
  const std::uint64_t epoch = NumberOf(state->reply().at(0));
  if (state->reply().at(1).text() == nonce) return RecordCursor{.epoch = epoch};
  for (const resp::Value value : writes->reply()) {
    const std::string_view write = value.text();
    const std::size_t first = write.find(':');
    const std::size_t second = write.rfind(':');
    if (first == second || write.substr(second + 1) != nonce) continue;
    return RecordCursor{
        .epoch = epoch,
        .sequence = ParseNumber<std::uint64_t>(write.substr(0, first)).value_or(0),
        .time = ParseMicros(write.substr(first + 1, second - first - 1)).value_or(WallTime{})};
  }
  return std::nullopt;
}

Result<RecordPage> RedisControlStore::ReadRecords(const RecordCursor& after, std::size_t count) {
  count = std::clamp<std::size_t>(count, 1, kPortion);
  const auto reply =
      Call({"EVAL", kReadRecordsScript, "4", state_, records_, changes_, writes_,
            std::to_string(after.epoch), std::to_string(after.sequence), MicrosText(after.time),
            std::to_string(after.snapshot), after.with_removed ? "1" : "0", std::to_string(count)});
  if (!reply) return reply.error();
  const resp::Value value = reply->reply();
  if (value.size() < kPageHeader) return UnexpectedReply(value);
  if (auto problem = FindFormatProblem(value.at(0).text())) return Describe(*problem, state_);
  RecordPage page{.is_snapshot_start = value.at(5).integer() != 0,
                  .diverged = value.at(5).integer() == 2,
                  .next = CursorOf(value.at(1), value.at(2), value.at(3)),
                  .complete = value.at(8).integer() == 1,
                  .now = ParseMicros(value.at(4).text()).value_or(WallTime{})};
  if (!page.complete) {
    const std::uint64_t snapshot = NumberOf(value.at(6));
    page.next.sequence = NumberOf(value.at(7));
    page.next.snapshot = snapshot != 0 ? snapshot : after.sequence;
    page.next.with_removed = after.with_removed;
  }
  std::string_view key;
  std::size_t index = 0;
  for (const resp::Value item : value) {
    if (index++ < kPageHeader) continue;
    if ((index - kPageHeader) % 2 == 1) {
      key = item.text();
      continue;
    }
    auto record = ParseRecord(key, item.text(), page.now);
    if (!record) return Describe(record.error(), records_);
    if (*record) page.records.push_back(*std::move(*record));
  }
  return page;
}

Result<RecordWriteResult> RedisControlStore::RestoreRecords(std::span<const Record> records,
                                                            const RecordCursor& expected,
                                                            const RecordCursor& base,
                                                            const AuditEvent& event) {
  const std::string nonce = std::to_string(RandomId());
  const std::string staged_records = records_ + ":new:" + nonce;
  const std::string staged_changes = changes_ + ":new:" + nonce;
  std::array<std::size_t, kRecordKinds.size()> counts{};
  std::uint64_t sequence = base.sequence;
  for (std::size_t begin = 0; begin < records.size(); begin += kStagedRecords) {
    std::vector<std::string> texts;
    for (const Record& record :
         records.subspan(begin).first(std::min(kStagedRecords, records.size() - begin))) {
      ++counts[static_cast<std::size_t>(record.kind)];
      texts.push_back(KeyOf(record.kind, record.id));
      texts.push_back(std::to_string(++sequence));
      texts.push_back(ValueOf(record, sequence));
    }
    std::vector<std::string_view> command{"EVAL",         kStageRecordsScript, "2",
                                          staged_records, staged_changes,      kStagedMillis};
    command.insert(command.end(), texts.begin(), texts.end());
    if (const auto staged = Call(command); !staged) return staged.error();
  }
  const std::string epoch = std::to_string(base.epoch);
  const std::string last_sequence = std::to_string(std::max(sequence, base.sequence + 1));
  const std::string expected_epoch = std::to_string(expected.epoch);
  const std::string expected_sequence = std::to_string(expected.sequence);
  const std::string expected_time = MicrosText(expected.time);
  const std::string count = std::to_string(records.size());
  const std::string audits_kept = std::to_string(kAuditRecordsKept);
  std::vector<std::string> count_texts;
  for (const std::size_t number : counts) count_texts.push_back(std::to_string(number));
  auto result =
      SendUntilAudited(event, nonce, [&](std::string_view last, const std::string& record) {
        std::vector<std::string_view> command{"EVAL",
                                              kRestoreRecordsScript,
                                              "8",
                                              state_,
                                              records_,
                                              changes_,
                                              removed_,
                                              writes_,
                                              audit_,
                                              staged_records,
                                              staged_changes,
                                              last,
                                              record,
                                              audits_kept,
                                              channel_,
                                              nonce,
                                              expected_epoch,
                                              expected_sequence,
                                              expected_time,
                                              epoch,
                                              last_sequence,
                                              count};
        for (const RecordKindInfo& kind : kRecordKinds) {
          command.push_back(kind.name);
          command.push_back(count_texts[static_cast<std::size_t>(kind.kind)]);
        }
        return Call(command);
      });
  if (result) result->first_sequence = base.sequence + 1;
  return result;
}

Result<bool> RedisControlStore::WriteNodeReport(std::string_view name, const NodeReport& report,
                                                Micros ttl) {
  if (auto problem = FindReportProblem(name, report, ttl)) return *problem;
  const std::string key = channel_ + ":report:" + std::string(name);
  const auto reply = Call({"EVAL", kWriteReportScript, "2", key, key + ":expiry", report.node,
                           std::to_string(ttl.count()), report.text});
  if (!reply) return reply.error();
  return true;
}

Result<std::vector<NodeReport>> RedisControlStore::ReadNodeReports(std::string_view name) {
  const std::string key = channel_ + ":report:" + std::string(name);
  const auto reply = Call({"EVAL", kReadReportsScript, "2", key, key + ":expiry"});
  if (!reply) return reply.error();
  std::vector<NodeReport> list;
  bool is_text = false;
  for (const resp::Value value : reply->reply()) {
    if (std::exchange(is_text, !is_text)) {
      list.back().text = value.text();
    } else {
      list.push_back({.node = std::string(value.text())});
    }
  }
  std::ranges::sort(list, {}, &NodeReport::node);
  return list;
}

}  // namespace sluice::control

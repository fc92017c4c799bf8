#include "control/rule_service.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/fingerprint.h"
#include "control/change_evaluator.h"
#include "control/entity_tag.h"
#include "rules/reader.h"

namespace sluice::control {
namespace {

constexpr std::size_t kMaxMessageBytes = 4096;
constexpr std::size_t kMaxIdempotencyKeyBytes = 255;
constexpr std::size_t kDigestDigits = 16;
/// A restore tries again if another commit comes first.
constexpr int kMaxAttempts = 5;
/// A restore, and the comparison of versions, wait so long for the evaluation of another change.
constexpr Micros kBusyTimeout = std::chrono::seconds(10);
constexpr std::chrono::milliseconds kNodePollInterval{50};
constexpr Micros kMaxWait = std::chrono::seconds(60);

// The part of a version's idempotency key that identifies the content of the request.
std::string DigestOf(const ChangeRequest& request) {
  std::string content = std::to_string(static_cast<int>(request.kind)) + '\n';
  content += std::to_string(static_cast<int>(request.format)) + '\n';
  content += ToText(request.restore) + '\n';
  content += std::to_string(request.target.size()) + ':' + request.target + '\n' + request.text;
  return Fingerprint(content).substr(0, kDigestDigits);
}

std::optional<ChangeResult> CheckFields(const ChangeRequest& request,
                                        const RuleServiceOptions& options) {
  const bool is_restore = request.kind == ChangeKind::kRestore;
  if (request.text.size() > kMaxDocumentBytes) {
    return FailedChange(ChangeOutcome::kTooLarge,
                        "a document has at most " + std::to_string(kMaxDocumentBytes) + " bytes");
  }
  if (request.message.size() > kMaxMessageBytes) {
    return FailedChange(ChangeOutcome::kBadRequest,
                        "is longer than " + std::to_string(kMaxMessageBytes) + " bytes", "message");
  }
  if (request.idempotency_key.size() > kMaxIdempotencyKeyBytes) {
    return FailedChange(ChangeOutcome::kBadRequest,
                        "is longer than " + std::to_string(kMaxIdempotencyKeyBytes) + " bytes",
                        "idempotency_key");
  }
  if (request.kind != ChangeKind::kPutDocument && !is_restore && request.target.empty()) {
    return FailedChange(ChangeOutcome::kBadRequest, "the name of a rule or tier is missing",
                        "target");
  }
  if (is_restore && request.restore.number == 0) {
    return FailedChange(ChangeOutcome::kBadRequest, "the version is missing", "restore");
  }
  if (request.dry_run || !request.message.empty()) return std::nullopt;
  if (request.force) {
    return FailedChange(ChangeOutcome::kMessageRequired, "a forced change needs a message",
                        "message");
  }
  if (options.require_message && !is_restore) {
    return FailedChange(ChangeOutcome::kMessageRequired, "a change needs a message", "message");
  }
  return std::nullopt;
}

VersionRef RefOf(const std::optional<Version>& version) {
  return version ? version->info.ref : VersionRef{};
}

}  // namespace

RuleService::RuleService(ControlStore& store, RuleServiceOptions options, RuleServiceHooks hooks)
    : store_(store), options_(std::move(options)), hooks_(std::move(hooks)) {}

ChangeResult RuleService::Change(const ChangeRequest& request) {
  if (auto refused = CheckFields(request, options_)) return *std::move(refused);
  ChangeResult result;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    bool conflict = false;
    result = Attempt(request, conflict);
    if (!conflict) break;
    if (auto repeated = FindRepeated(request)) {
      result = *std::move(repeated);
      break;
    }
    // Without a precondition, the change applies to any version.
    if (request.kind != ChangeKind::kRestore || request.if_match) break;
  }
  if (!result.ok() || request.dry_run) return result;
  if (result.outcome == ChangeOutcome::kCommitted && hooks_.wake_follower) hooks_.wake_follower();
  if (request.wait) {
    // The commit stands, whether or not the nodes can be listed.
    if (auto propagation = Wait(result.version.ref, *request.wait)) {
      result.propagation = std::move(*propagation);
    } else {
      result.message = "the nodes can't be listed: " + propagation.error().message;
    }
  }
  return result;
}

ChangeResult RuleService::Attempt(const ChangeRequest& request, bool& conflict) {
  auto current = GetCurrent();
  if (!current) return FailedStore(current.error());
  if (!*current && hooks_.active_version && hooks_.active_version().id.number != 0) {
    return FailedChange(ChangeOutcome::kStoreFailed,
                        "the store has lost its versions; a node is about to restore them");
  }
  if (auto repeated = FindRepeated(request)) return *std::move(repeated);
  if (auto refused = CheckPrecondition(request, *current)) return *std::move(refused);
  ChangeDraft draft;
  std::optional<ChangeResult> refused;
  {
    const bool is_restore = request.kind == ChangeKind::kRestore && !request.dry_run;
    const std::unique_lock lock(request.dry_run ? dry_run_
                                : is_restore    ? restore_
                                                : change_,
                                is_restore ? kBusyTimeout : Micros{0});
    if (!lock.owns_lock()) {
      return FailedChange(ChangeOutcome::kBusy, "another change is being evaluated; try again");
    }
    refused = ChangeEvaluator(store_, options_, hooks_).Evaluate(request, *current, draft);
  }
  ChangeResult& result = refused ? *refused : draft.result;
  result.current = RefOf(*current);
  if (refused) {
    if (result.text.empty()) result.text = std::move(draft.text);
    return result;
  }
  if (request.dry_run) {
    result.outcome = ChangeOutcome::kValid;
    result.text = std::move(draft.text);
    return result;
  }
  return Commit(request, *current, draft, conflict);
}

std::optional<ChangeResult> RuleService::FindRepeated(const ChangeRequest& request) {
  if (request.idempotency_key.empty() || request.dry_run) return std::nullopt;
  const auto versions = store_.ListVersions();
  if (!versions) return FailedStore(versions.error());
  for (const VersionInfo& info : *versions) {
    const std::string_view stored = info.idempotency_key;
    if (stored.size() <= kDigestDigits ||
        stored.substr(kDigestDigits + 1) != request.idempotency_key)
      continue;
    if (stored.substr(0, kDigestDigits) != DigestOf(request)) {
      return FailedChange(
          ChangeOutcome::kIdempotencyConflict,
          "the key was used for another request, which made version " + ToText(info.ref.id),
          "idempotency_key");
    }
    ChangeResult result{.outcome = ChangeOutcome::kRepeated, .version = info};
    result.current = versions->front().ref;
    return result;
  }
  return std::nullopt;
}

std::optional<ChangeResult> RuleService::CheckPrecondition(const ChangeRequest& request,
                                                           const std::optional<Version>& current) {
  const bool is_document = request.kind == ChangeKind::kPutDocument;
  if (!current) {
    if (request.if_match) {
      return FailedChange(ChangeOutcome::kPreconditionFailed, "there are no rules yet", "if_match");
    }
    if (!is_document && request.kind != ChangeKind::kRestore) {
      return FailedChange(ChangeOutcome::kNotFound, "there are no rules yet; put a whole document");
    }
    return std::nullopt;
  }
  if (!request.if_match) {
    if (request.kind == ChangeKind::kRestore || request.dry_run) return std::nullopt;
    ChangeResult result =
        FailedChange(ChangeOutcome::kPreconditionRequired,
                     "the entity tag of the version that is changed is missing", "if_match");
    result.current = current->info.ref;
    return result;
  }
  if (MatchesTag(*request.if_match, current->info.ref)) return std::nullopt;
  ChangeResult result = FailedChange(
      ChangeOutcome::kPreconditionFailed,
      "the current version is " + ToText(current->info.ref.id) + ", not the expected one",
      "if_match");
  CompareWithNamed(request, *current, result);
  return result;
}

void RuleService::CompareWithNamed(const ChangeRequest& request, const Version& current,
                                   ChangeResult& result) {
  result.current = current.info.ref;
  const std::unique_lock lock(dry_run_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const rules::ReadResult now = rules::Read(kDocumentName, current.text);
  if (!now.file) return;
  const VersionId named = NamedVersion(request.if_match.value_or(""));
  if (named.number != 0) {
    if (auto version = store_.ReadVersion(named); version && *version) {
      const rules::ReadResult before = rules::Read(kDocumentName, (*version)->text);
      if (!before.file) return;
      result.difference = rules::Compare(*before.file, *now.file);
      result.difference_from = ToText(named);
      result.difference_to = ToText(current.info.ref.id);
      return;
    }
  }
  ChangeDraft draft;
  if (ChangeEvaluator(store_, options_, hooks_).MakeText(request, current, draft)) return;
  const rules::ReadResult after = rules::Read(kDocumentName, draft.text);
  if (!after.file) return;
  result.difference = rules::Compare(*now.file, *after.file);
  result.difference_from = ToText(current.info.ref.id);
}

ChangeResult RuleService::Commit(const ChangeRequest& request,
                                 const std::optional<Version>& current, ChangeDraft& draft,
                                 bool& conflict) {
  const auto now = store_.Now();
  if (!now) return FailedStore(now.error());
  const bool is_restore = request.kind == ChangeKind::kRestore;
  VersionId id = current ? current->info.ref.id : VersionId{.epoch = 1, .number = 0};
  ++id.number;
  VersionInfo info{.origin = request.origin,
                   .time = *now,
                   .message = request.message,
                   .source = is_restore ? VersionSource::kRestored : VersionSource::kApi,
                   .restores = draft.restores};
  if (!request.idempotency_key.empty()) {
    info.idempotency_key = DigestOf(request) + ':' + request.idempotency_key;
  }
  const Version version = MakeVersion(id, std::move(draft.text), std::move(info));
  const AuditEvent event{.time = *now,
                         .origin = request.origin,
                         .action = is_restore ? "rules.restore" : "rules.commit",
                         .target = ToText(id),
                         .message = request.message,
                         .node = options_.node};
  const auto expected = current ? std::optional(current->info.ref) : std::nullopt;
  auto committed = store_.Commit(version, expected, event);
  ChangeResult result = std::move(draft.result);
  if (!committed) {
    // After a timeout, the write may have happened.
    const auto stored = committed.error().code == ErrorCode::kStoreTimeout
                            ? store_.ReadVersion(id)
                            : Result<std::optional<Version>>(std::optional<Version>());
    const bool is_ours = stored && *stored && (*stored)->info.ref == version.info.ref &&
                         (*stored)->info.time == *now &&
                         (*stored)->info.message == request.message &&
                         (*stored)->info.idempotency_key == version.info.idempotency_key;
    if (!is_ours) {
      return FailedChange(
          ChangeOutcome::kStoreFailed,
          committed.error().message +
              (stored ? "" : "; the version " + ToText(id) + " may have been stored"));
    }
    committed = CommitResult{.committed = true, .current = version.info.ref, .replicated = false};
  }
  if (!committed->committed) {
    conflict = true;
    result = FailedChange(
        ChangeOutcome::kPreconditionFailed,
        "the version " + ToText(committed->current.id) + " was committed meanwhile", "if_match");
    result.current = committed->current;
    if (auto winner = store_.ReadVersion(committed->current.id); winner && *winner) {
      CompareWithNamed(request, **winner, result);
    }
    return result;
  }
  result.outcome = ChangeOutcome::kCommitted;
  result.version = version.info;
  result.current = committed->current;
  result.replicated = committed->replicated;
  result.difference_to = ToText(id);
  result.text = version.text;
  return result;
}

Result<std::optional<Version>> RuleService::GetCurrent() {
  std::optional<VersionRef> missing;
  while (true) {
    auto current = store_.ReadCurrent();
    if (!current) return current.error();
    if (!*current) return std::optional<Version>();
    auto version = store_.ReadVersion((*current)->id);
    if (!version) return version.error();
    if (*version && (*version)->info.ref == **current) return version;
    // If it was replaced meanwhile, it may not be kept any more.
    if (missing == *current) {
      return Error{ErrorCode::kStoreError,
                   "the text of the current version " + ToText((*current)->id) + " is missing"};
    }
    missing = *current;
  }
}

Result<std::vector<VersionInfo>> RuleService::ListVersions() { return store_.ListVersions(); }

Result<std::optional<Version>> RuleService::GetVersion(const VersionId& id) {
  return store_.ReadVersion(id);
}

Result<std::optional<VersionDifference>> RuleService::Compare(const VersionId& from,
                                                              const VersionId& to) {
  auto before = store_.ReadVersion(from);
  if (!before) return before.error();
  auto after = store_.ReadVersion(to);
  if (!after) return after.error();
  if (!*before || !*after) return std::optional<VersionDifference>();
  const std::unique_lock lock(dry_run_, kBusyTimeout);
  if (!lock.owns_lock()) {
    return Error{ErrorCode::kStoreTimeout, "another change is being evaluated; try again"};
  }
  const rules::ReadResult old_rules = rules::Read(ToText(from), (*before)->text);
  const rules::ReadResult new_rules = rules::Read(ToText(to), (*after)->text);
  for (const rules::ReadResult* read : {&old_rules, &new_rules}) {
    if (!read->file) {
      return Error{ErrorCode::kInvalidRules, config_text::Describe(read->errors.front())};
    }
  }
  return std::optional(VersionDifference{.from = (*before)->info,
                                         .to = (*after)->info,
                                         .rows = rules::Compare(*old_rules.file, *new_rules.file)});
}

Result<NodeList> RuleService::ReadNodes(const VersionRef& current) {
  auto nodes = store_.ListNodes();
  if (!nodes) return nodes.error();
  const auto now = store_.Now();
  if (!now) return now.error();
  NodeList list{.current = current, .now = *now};
  for (NodeRecord& node : *nodes) {
    const NodeState state = StateOf(node, current, *now);
    list.nodes.push_back({.node = std::move(node), .state = state});
  }
  std::sort(list.nodes.begin(), list.nodes.end(),
            [](const NodeStatus& a, const NodeStatus& b) { return a.node.id < b.node.id; });
  return list;
}

Result<NodeList> RuleService::ListNodes() {
  const auto current = store_.ReadCurrent();
  if (!current) return current.error();
  return ReadNodes(current->value_or(VersionRef{}));
}

Result<Propagation> RuleService::Wait(const VersionRef& version, Micros timeout) {
  return WaitUntil([&](const NodeList& nodes) { return PropagationOf(version, nodes); }, version,
                   timeout);
}

Result<Propagation> RuleService::WaitForRecords(const RecordCursor& cursor, Micros timeout) {
  return WaitUntil([&](const NodeList& nodes) { return PropagationOf(cursor, nodes); }, {},
                   timeout);
}

Result<Propagation> RuleService::WaitUntil(const std::function<Propagation(const NodeList&)>& count,
                                           const VersionRef& current, Micros timeout) {
  const SteadyTime deadline = SteadyClock::Now() + std::clamp(timeout, Micros{0}, kMaxWait);
  while (true) {
    const auto nodes = ReadNodes(current);
    if (!nodes) return nodes.error();
    Propagation propagation = count(*nodes);
    if (propagation.complete()) return propagation;
    const Micros left = deadline - SteadyClock::Now();
    std::unique_lock lock(stop_mutex_);
    if (left <= Micros{0} || stopped_) return propagation;
    stop_changed_.wait_for(lock, std::min<Micros>(left, kNodePollInterval),
                           [this] { return stopped_; });
  }
}

Result<std::vector<AuditRecord>> RuleService::ReadAudit(std::uint64_t before, std::size_t count) {
  return store_.ReadAudit(before, std::min(count, kMaxAuditRecordsRead));
}

Result<AuditRecord> RuleService::AppendAudit(const Origin& origin, std::string action,
                                             std::string target, std::string message) {
  const auto now = store_.Now();
  if (!now) return now.error();
  return store_.AppendAudit({.time = *now,
                             .origin = origin,
                             .action = std::move(action),
                             .target = std::move(target),
                             .message = std::move(message),
                             .node = options_.node});
}

void RuleService::Stop() {
  {
    const std::lock_guard lock(stop_mutex_);
    stopped_ = true;
  }
  stop_changed_.notify_all();
}

}  // namespace sluice::control

#include "server/control_plane.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "base/read_file.h"
#include "control/disk/disk_store.h"
#include "control/disk/lazy_disk_store.h"
#include "control/disk/lazy_last_good.h"
#include "control/redis/redis_control_store.h"
#include "server/example_rules.h"
#include "server/version.h"

namespace sluice::server {
namespace {

using control::SyncEventKind;
using telemetry::LogLevel;

/// Threads of one kind of task, and the requests that may wait for them; more get 503 BUSY.
struct TaskPool {
  api::TaskKind kind{};
  std::size_t threads = 1;
  std::size_t max_waiting = 16;
};

constexpr std::array kTaskPools{
    TaskPool{.kind = api::TaskKind::kRead, .threads = 2, .max_waiting = 64},
    TaskPool{.kind = api::TaskKind::kEvaluate},
    TaskPool{.kind = api::TaskKind::kChange},
    TaskPool{.kind = api::TaskKind::kRestore},
    TaskPool{.kind = api::TaskKind::kRecords, .threads = 2, .max_waiting = 64},
    TaskPool{.kind = api::TaskKind::kWait, .threads = 4},
};
constexpr std::size_t kWaitingAudits = 1000;
constexpr Micros kAuditHashInterval = std::chrono::minutes(1);
constexpr Micros kReloadTimeout = std::chrono::seconds(5);
constexpr Micros kReloadPoll = std::chrono::milliseconds(5);

std::string NewNodeId() {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(RandomId()));
  return text.data();
}

LogLevel LevelOf(SyncEventKind kind) {
  switch (kind) {
    case SyncEventKind::kRejected:
    case SyncEventKind::kVersionsLost:
    case SyncEventKind::kRecordsLost:
      return LogLevel::kError;
    case SyncEventKind::kStoreFailed:
    case SyncEventKind::kVersionsRestored:
    case SyncEventKind::kRecordsFailed:
    case SyncEventKind::kRecordsRestored:
    case SyncEventKind::kCopyFailed:
      return LogLevel::kWarn;
    default:
      return LogLevel::kInfo;
  }
}

std::string_view EventName(SyncEventKind kind) {
  switch (kind) {
    case SyncEventKind::kActivated:
      return "rules loaded";
    case SyncEventKind::kRejected:
      return "rules rejected, keeping previous rules";
    case SyncEventKind::kStoreFailed:
      return "control store failed, keeping the rules and records in use";
    case SyncEventKind::kStoreRecovered:
      return "control store recovered";
    case SyncEventKind::kSeeded:
      return "empty control store filled from the rule file";
    case SyncEventKind::kSeedIgnored:
      return "rules file is ignored";
    case SyncEventKind::kVersionsLost:
      return "control store lost versions of the rules";
    case SyncEventKind::kVersionsRestored:
      return "lost versions of the rules restored";
    case SyncEventKind::kCopyFailed:
      return "last good copy of rules or records failed";
    case SyncEventKind::kRecordsFailed:
      return "control store failed, keeping the records in use";
    case SyncEventKind::kRecordsRecovered:
      return "records are read again";
    case SyncEventKind::kRecordsLost:
      return "control store lost records";
    case SyncEventKind::kRecordsRestored:
      return "lost records restored";
  }
  return "";
}

}  // namespace

ControlPlane::ControlPlane(Shared& shared, net::Loop& main)
    : shared_(shared),
      main_(main),
      node_id_(NewNodeId()),
      directory_(shared.config.state_dir),
      enforcement_(shared),
      entries_(shared.entries, {.now = [] { return TheSystemClock().Now(); },
                                .on_unreadable =
                                    [this](const std::string& id, const std::string& error) {
                                      shared_.log.Write(
                                          LogLevel::kError,
                                          "live entry can't be read, and has no effect",
                                          {{"id", id}, {"error", error}});
                                    }}),
      tokens_(shared.access),
      audit_timer_(main, [this] { LogNewestAuditHash(); }) {
  OnRecords(control::RecordKind::kEnforcement,
            [this](const control::RecordChanges& changes) { enforcement_.Apply(changes); });
  OnRecords(control::RecordKind::kToken, [this](const control::RecordChanges& changes) {
    tokens_.Apply(changes, TheSystemClock().Now());
  });
  OnRecords(control::RecordKind::kEntry, [this](const control::RecordChanges& changes) {
    entries_.Apply(changes.records, changes.complete);
  });
}

ControlPlane::~ControlPlane() { Stop(); }

Result<std::unique_ptr<ControlPlane>> ControlPlane::Open(Shared& shared, net::Loop& main) {
  std::unique_ptr<ControlPlane> control(new ControlPlane(shared, main));
  if (shared.config.rules_source == settings::RulesSource::kStore) {
    control->rules_ = std::make_unique<StoredRules>(shared);
  }
  if (auto opened = control->OpenStore(); !opened) return opened.error();
  return control;
}

Result<bool> ControlPlane::OpenStore() {
  const settings::Config& config = shared_.config;
  const auto directory = has_rules() ? directory_.Open() : directory_.OpenIfExists();
  if (!directory) {
    if (has_rules() && !shared_.redis) {
      return Error{ErrorCode::kInvalidOptions, "state_dir: " + directory.error().message};
    }
    shared_.log.Write(
        LogLevel::kWarn,
        !shared_.redis ? "state_dir can't be used: records can't be written"
        : has_rules()  ? "state_dir can't be used: without Redis, a restart would have no rules"
                       : "state_dir can't be used: without Redis, a restart would have no records",
        {{"error", directory.error().message}});
  }
  if (!shared_.redis) return OpenDiskStore();
  copy_ = std::make_unique<control::LazyLastGood>(directory_);
  store_ = std::make_unique<control::RedisControlStore>(control::RedisControlOptions{
      .redis = *shared_.redis,
      .name = config.control.name_space,
      .on_notifications_refused = [this](std::string_view error) {
        shared_.log.Write(LogLevel::kWarn,
                          "Redis refuses notifications of changes: they are found by reading once "
                          "a second",
                          {{"error", error}});
      }});
  place_ = "Redis, namespace " + config.control.name_space;
  return true;
}

Result<bool> ControlPlane::OpenDiskStore() {
  auto store = std::make_unique<control::LazyDiskStore>(
      directory_, TheSystemClock(),
      [this](const control::DiskStore& opened) { LogDamage(opened); });
  place_ = "state directory " + shared_.config.state_dir;
  if (const auto read = store->ReadHead(); !read && has_rules()) {
    return Error{ErrorCode::kInvalidOptions, "state_dir: " + read.error().message};
  }
  store_ = std::move(store);
  return true;
}

void ControlPlane::LogDamage(const control::DiskStore& store) {
  for (const std::string& repair : store.repairs()) {
    shared_.log.Write(LogLevel::kError, "state directory was damaged, and repaired",
                      {{"detail", repair}});
  }
  repairs_.fetch_add(store.repairs().size());
}

void ControlPlane::OnRecords(control::RecordKind kind,
                             std::function<void(const control::RecordChanges&)> callback) {
  consumers_.push_back({.kind = kind, .callback = std::move(callback)});
}

void ControlPlane::DeliverRecords(const control::RecordChanges& changes) {
  for (const Consumer& consumer : consumers_) {
    control::RecordChanges some{.complete = changes.complete, .cursor = changes.cursor};
    for (const control::Record& record : changes.records) {
      if (record.kind == consumer.kind) some.records.push_back(record);
    }
    if (some.complete || !some.records.empty()) consumer.callback(some);
  }
}

Result<bool> ControlPlane::Start(std::string address,
                                 std::function<void(control::NodeRecord&)> describe) {
  const settings::Config& config = shared_.config;
  control::RuleServiceOptions options{.node = node_id_,
                                      .require_message = config.control.require_message};
  if (config.guard.max_newly_denied)
    options.max_newly_denied = *config.guard.max_newly_denied / 100;
  service_ = std::make_unique<control::RuleService>(
      *store_, std::move(options),
      control::RuleServiceHooks{
          .evaluate_impact =
              [this](const match::RuleSet& before, const match::RuleSet& after, std::size_t nodes) {
                return rules_->EvaluateImpact(before, after, nodes);
              },
          .wake_follower = [this] { follower_->Wake(); },
          .active_version = [this] { return follower_->Stats().active; }});
  follower_ = std::make_unique<control::Follower>(
      *store_, copy_.get(),
      control::SyncOptions{.node = {.id = node_id_,
                                    .address = std::move(address),
                                    .build = std::string(kVersion),
                                    .started = TheSystemClock().Now()},
                           .seed = has_rules() ? rules_->seed() : std::nullopt,
                           .follow_rules = has_rules()},
      control::SyncHooks{
          .activate = [this](const control::Version& version) { return rules_->Activate(version); },
          .describe_node = std::move(describe),
          .on_records = [this](const control::RecordChanges& changes) { DeliverRecords(changes); },
          .on_event = [this](const control::SyncEvent& event) { Log(event); }});
  record_service_ = std::make_unique<control::NodeRecordService>(*store_, *follower_, node_id_);
  const control::SyncStats stats = follower_->Start();
  StartThreads();
  audit_timer_.Set(SteadyClock::Now() + kAuditHashInterval);
  if (!has_rules() || stats.origin != control::RulesOrigin::kNone) return true;
  if (!rules_->seed_errors().empty()) {
    std::string message = "the store has no rules, and the rule file can't be used:";
    for (const std::string& error : rules_->seed_errors()) message += "\n" + error;
    return Error{ErrorCode::kInvalidRules, std::move(message)};
  }
  shared_.log.Write(LogLevel::kWarn,
                    "there are no rules yet: calls pass without limits, and /readyz returns 503",
                    {{"source", place_}, {"error", stats.last_error}});
  return true;
}

void ControlPlane::StartThreads() {
  const auto run = [this](const Task& task) {
    api::ControlServices services{.rules = *service_,
                                  .records = *record_service_,
                                  .store = *store_,
                                  .entries = entries_,
                                  .traffic = shared_.traffic.get()};
    if (!has_rules()) services.read_rule_file = [this] { return ReadRuleFile(); };
    (*task)(services);
    return true;
  };
  const auto start = [&](const TaskPool& pool) {
    return std::make_unique<TaskThreads>(
        run, SharedWorkOptions{
                 .threads = pool.threads, .max_waiting = pool.max_waiting, .rests = false});
  };
  for (const TaskPool& pool : kTaskPools) {
    tasks_[static_cast<std::size_t>(pool.kind)] = start(pool);
  }
  audits_ = start({.threads = 1, .max_waiting = kWaitingAudits});
}

Result<std::string> ControlPlane::ReadRuleFile() const {
  const std::string& path = shared_.config.rules;
  if (path.empty()) return std::string(kExampleRules);
  auto text = ReadFile(path);
  if (!text) return Error{text.error().code, path + " " + text.error().message};
  return text;
}

void ControlPlane::EndWaits() {
  if (service_) service_->Stop();
  if (follower_) follower_->records().StopWaits();
}

std::vector<ControlPlane::TaskThreads*> ControlPlane::AllThreads() const {
  std::vector<TaskThreads*> all;
  for (const auto& threads : tasks_) {
    if (threads) all.push_back(threads.get());
  }
  if (audits_) all.push_back(audits_.get());
  return all;
}

bool ControlPlane::TryStop(Micros timeout) {
  EndWaits();
  bool stopped = true;
  for (TaskThreads* const threads : AllThreads()) stopped = threads->TryStop(timeout) && stopped;
  return stopped;
}

void ControlPlane::Stop() {
  EndWaits();
  for (TaskThreads* const threads : AllThreads()) threads->Stop();
  if (follower_) follower_->Stop();
}

void ControlPlane::Log(const control::SyncEvent& event) {
  const auto version = ToText(event.version.id);
  shared_.log.Write(LevelOf(event.kind), EventName(event.kind),
                    {{"version", version}, {"detail", event.message}});
}

LoadReport ControlPlane::Reload() {
  const std::uint64_t before = shared_.rules.Status().version;
  const control::SyncStats last = Stats();
  const SteadyTime deadline = SteadyClock::Now() + kReloadTimeout;
  follower_->Wake();
  control::SyncStats stats = Stats();
  while (stats.last_good_read == last.last_good_read && stats.failures == last.failures &&
         SteadyClock::Now() < deadline) {
    std::this_thread::sleep_for(kReloadPoll);
    stats = Stats();
  }
  LoadReport report{.version = shared_.rules.Status().version};
  if (!stats.up) {
    report.errors = {place_ + " can't be read: " + stats.last_error};
  } else if (stats.rejected.id.number > 0) {
    report.errors = {stats.rejected_error};
  } else {
    report.outcome = report.version == before ? LoadOutcome::kUnchanged : LoadOutcome::kActivated;
  }
  return report;
}

LoadReport ControlPlane::RollBack(std::uint64_t live_number, const control::Origin& origin) {
  const auto id = rules_->FindActivated(live_number);
  if (!id) return {.version = shared_.rules.Status().version};
  const control::ChangeResult result =
      service_->Change({.kind = control::ChangeKind::kRestore,
                        .restore = *id,
                        .message = "rollback to version " + ToText(*id),
                        .origin = origin});
  if (!result.ok()) {
    return {.version = shared_.rules.Status().version, .errors = {result.message}};
  }
  LoadReport report = Reload();
  if (report.outcome == LoadOutcome::kUnchanged) report.outcome = LoadOutcome::kActivated;
  return report;
}

void ControlPlane::Audit(control::Origin origin, std::string action, std::string target) {
  AskAudits([this, origin = std::move(origin), action = std::move(action),
             target = std::move(target)](api::ControlServices& services) {
    const auto record = services.rules.AppendAudit(origin, action, target);
    if (record) return;
    shared_.log.Write(LogLevel::kError, "audit record lost",
                      {{"action", action},
                       {"target", target},
                       {"author", origin.author},
                       {"error", record.error().message}});
  });
}

void ControlPlane::AskAudits(std::function<void(api::ControlServices&)> task) {
  const bool accepted =
      audits_->Ask(std::make_shared<std::function<void(api::ControlServices&)>>(std::move(task)),
                   main_, [](const auto& /*result*/) {});
  if (accepted) return;
  shared_.log.Write(shared_.lost_audit_records, SteadyClock::Now(), LogLevel::kError,
                    "audit records lost: the control store is too slow for them", {});
}

// A log elsewhere that has the newest hash shows that records were removed at the end.
void ControlPlane::LogNewestAuditHash() {
  audit_timer_.Set(SteadyClock::Now() + kAuditHashInterval);
  AskAudits([this](api::ControlServices& services) {
    const auto newest = services.rules.ReadAudit(0, 1);
    if (!newest || newest->empty()) return;
    const control::AuditRecord& record = newest->front();
    if (logged_audit_.exchange(record.sequence) == record.sequence) return;
    shared_.log.Write(LogLevel::kInfo, "audit log",
                      {{"sequence", record.sequence}, {"hash", record.hash}});
  });
}

void ControlPlane::Run(api::TaskKind kind, net::Loop& caller,
                       std::function<void(api::ControlServices&)> task,
                       std::function<void(bool ran)> done) {
  const bool accepted = tasks_[static_cast<std::size_t>(kind)]->Ask(
      std::make_shared<std::function<void(api::ControlServices&)>>(std::move(task)), caller,
      [done](const auto& /*result*/) { done(true); });
  if (!accepted) caller.Post([done = std::move(done)] { done(false); });
}

std::string ControlPlane::Describe() const {
  const control::SyncStats stats = Stats();
  switch (stats.origin) {
    case control::RulesOrigin::kNone:
      return place_ + ", no rules yet";
    case control::RulesOrigin::kStore:
      return place_ + ", version " + ToText(stats.active.id);
    case control::RulesOrigin::kLastGood:
      return "last good copy, version " + ToText(stats.active.id) + " (" + place_ +
             " can't be read: " + stats.last_error + ")";
    case control::RulesOrigin::kSeed:
      return shared_.config.rules + " (" + place_ + " can't be read: " + stats.last_error + ")";
  }
  return place_;
}

api::Condition ControlPlane::Condition() const {
  const control::SyncStats stats = Stats();
  if (!has_rules()) {
    const std::string& error = stats.up ? stats.records.last_error : stats.last_error;
    return {.name = "control_store",
            .ok = error.empty(),
            .detail = place_ + (error.empty() ? "" : " can't be read: " + error)};
  }
  std::string detail = Describe();
  if (!stats.up && stats.origin == control::RulesOrigin::kStore) {
    detail += "; reads that failed in a row: " + std::to_string(stats.consecutive_failures) + " (" +
              stats.last_error + ")";
  }
  if (stats.rejected.id.number > 0) {
    detail += "; version " + ToText(stats.rejected.id) + " can't be used: " + stats.rejected_error;
  }
  const bool ok =
      stats.up && stats.origin != control::RulesOrigin::kNone && stats.rejected.id.number == 0;
  return {.name = "rules_source", .ok = ok, .detail = std::move(detail)};
}

}  // namespace sluice::server

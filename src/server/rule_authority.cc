#include "server/rule_authority.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "base/read_file.h"
#include "control/disk/disk_store.h"
#include "control/disk/last_good_file.h"
#include "control/redis/redis_control_store.h"
#include "match/load_rules.h"
#include "rules/endpoint_case.h"
#include "rules/reader.h"
#include "server/version.h"
#include "simulate/impact.h"

namespace sluice::server {
namespace {

using control::SyncEventKind;
using telemetry::LogLevel;

// Requests that may wait for a thread; more get 503 BUSY.
constexpr std::size_t kWaitingReads = 64;
constexpr std::size_t kWaitingChanges = 16;
constexpr std::size_t kWaitingWaits = 16;
constexpr std::size_t kWaitingAudits = 1000;
constexpr std::size_t kReadThreads = 2;
constexpr std::size_t kWaitThreads = 4;
constexpr Micros kAuditHashInterval = std::chrono::minutes(1);
constexpr Micros kReloadTimeout = std::chrono::seconds(5);
constexpr Micros kReloadPoll = std::chrono::milliseconds(5);

std::string NewNodeId() {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(RandomId()));
  return text.data();
}

std::string FirstLine(const std::vector<std::string>& errors) {
  if (errors.empty()) return "unknown error";
  return errors.front() +
         (errors.size() > 1 ? " (and " + std::to_string(errors.size() - 1) + " more)" : "");
}

std::string SourceName(const control::VersionRef& ref) {
  return ref.id.number == 0 ? "the rule file" : "version " + ToText(ref.id);
}

LogLevel LevelOf(SyncEventKind kind) {
  switch (kind) {
    case SyncEventKind::kRejected:
    case SyncEventKind::kVersionsLost:
      return LogLevel::kError;
    case SyncEventKind::kStoreFailed:
    case SyncEventKind::kVersionsRestored:
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
      return "control store failed, keeping the rules in use";
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
      return "last good copy of the rules failed";
  }
  return "";
}

}  // namespace

RuleAuthority::RuleAuthority(Shared& shared, net::Loop& main)
    : shared_(shared),
      main_(main),
      node_id_(NewNodeId()),
      audit_timer_(main, [this] { LogNewestAuditHash(); }) {}

RuleAuthority::~RuleAuthority() { Stop(); }

Result<std::unique_ptr<RuleAuthority>> RuleAuthority::Open(Shared& shared, net::Loop& main) {
  std::unique_ptr<RuleAuthority> authority(new RuleAuthority(shared, main));
  if (auto opened = authority->OpenStore(); !opened) return opened.error();
  authority->ReadSeed();
  return authority;
}

Result<bool> RuleAuthority::OpenStore() {
  const settings::Config& config = shared_.config;
  auto directory = control::StateDirectory::Open(config.state_dir);
  if (directory) {
    directory_ = *std::move(directory);
  } else if (!shared_.redis) {
    return Error{ErrorCode::kInvalidOptions, "state_dir: " + directory.error().message};
  } else {
    shared_.log.Write(LogLevel::kWarn,
                      "state_dir can't be used: without Redis, a restart would have no rules",
                      {{"error", directory.error().message}});
  }
  if (shared_.redis) {
    if (directory_) copy_ = std::make_unique<control::LastGoodFile>(*directory_);
    store_ = std::make_unique<control::RedisControlStore>(control::RedisControlOptions{
        .redis = *shared_.redis,
        .name = config.control.name_space,
        .on_notifications_refused = [this](std::string_view error) {
          shared_.log.Write(LogLevel::kWarn,
                            "Redis refuses notifications of new rules: they are found by "
                            "reading once a second",
                            {{"error", error}});
        }});
    place_ = "Redis, namespace " + config.control.name_space;
    return true;
  }
  auto store = control::DiskStore::Open(*directory_, TheSystemClock());
  if (!store) return Error{ErrorCode::kInvalidOptions, "state_dir: " + store.error().message};
  store_ = *std::move(store);
  place_ = "state directory " + config.state_dir;
  return true;
}

// Only rules without errors are a seed. Whether one is needed is known later.
void RuleAuthority::ReadSeed() {
  const std::string& path = shared_.config.rules;
  if (path.empty()) return;
  auto text = ReadFile(path);
  if (!text) {
    seed_errors_ = {path + " " + text.error().message};
    return;
  }
  const rules::ReadResult read = rules::Read(path, *text);
  if (read.file) {
    seed_ = *std::move(text);
  } else {
    seed_errors_ = DescribeAll(read.errors);
  }
}

Result<bool> RuleAuthority::Start(std::string address,
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
                return EvaluateImpact(before, after, nodes);
              },
          .wake_follower = [this] { follower_->Wake(); },
          .active_version = [this] { return follower_->Stats().active; }});
  follower_ = std::make_unique<control::Follower>(
      *store_, copy_.get(),
      control::SyncOptions{.node = {.id = node_id_,
                                    .address = std::move(address),
                                    .build = std::string(kVersion),
                                    .started = TheSystemClock().Now()},
                           .seed = seed_},
      control::SyncHooks{
          .activate = [this](const control::Version& version) { return Activate(version); },
          .describe_node = std::move(describe),
          .on_event = [this](const control::SyncEvent& event) { Log(event); }});
  const control::SyncStats stats = follower_->Start();
  const auto run = [this](const Task& task) {
    api::ControlServices services{.rules = *service_, .traffic = shared_.traffic.get()};
    (*task)(services);
    return true;
  };
  const auto threads = [&](std::size_t count, std::size_t waiting) {
    return std::make_unique<TaskThreads>(
        run, SharedWorkOptions{.threads = count, .max_waiting = waiting, .rests = false});
  };
  reads_ = threads(kReadThreads, kWaitingReads);
  changes_ = threads(1, kWaitingChanges);
  waits_ = threads(kWaitThreads, kWaitingWaits);
  audits_ = threads(1, kWaitingAudits);
  audit_timer_.Set(SteadyClock::Now() + kAuditHashInterval);
  if (stats.origin != control::RulesOrigin::kNone) return true;
  if (!seed_errors_.empty()) {
    std::string message = "the store has no rules, and the rule file can't be used:";
    for (const std::string& error : seed_errors_) message += "\n" + error;
    return Error{ErrorCode::kInvalidRules, std::move(message)};
  }
  shared_.log.Write(LogLevel::kWarn,
                    "there are no rules yet: calls pass without limits, and /readyz returns 503",
                    {{"source", place_}, {"error", stats.last_error}});
  return true;
}

void RuleAuthority::EndWaits() {
  if (service_) service_->Stop();
}

bool RuleAuthority::TryStop(Micros timeout) {
  EndWaits();
  bool stopped = true;
  for (TaskThreads* const threads : {reads_.get(), changes_.get(), waits_.get(), audits_.get()}) {
    stopped = (threads == nullptr || threads->TryStop(timeout)) && stopped;
  }
  return stopped;
}

void RuleAuthority::Stop() {
  EndWaits();
  for (TaskThreads* const threads : {reads_.get(), changes_.get(), waits_.get(), audits_.get()}) {
    if (threads != nullptr) threads->Stop();
  }
  if (follower_) follower_->Stop();
}

control::LoadReport RuleAuthority::Activate(const control::Version& version) {
  LoadReport report = match::LoadRules(shared_.rules, SourceName(version.info.ref), version.text,
                                       TheSystemClock().Now(), [this](rules::RuleFile& file) {
                                         for (rules::Rule& rule : file.rules) {
                                           shared_.NumberLimits(rule);
                                         }
                                       });
  if (report.outcome == LoadOutcome::kRefused) {
    for (const std::string& error : report.errors) {
      shared_.log.Write(LogLevel::kError, "rules error", {{"error", error}});
    }
    return {.error = FirstLine(report.errors)};
  }
  shared_.AddRuleWarnings(report);
  for (const std::string& warning : report.warnings) {
    shared_.log.Write(LogLevel::kWarn, "rules warning", {{"warning", warning}});
  }
  const std::lock_guard lock(activated_mutex_);
  activated_.emplace_back(report.version, version.info.ref.id);
  if (activated_.size() > 2 * Shared::kVersionsKept) activated_.erase(activated_.begin());
  return {.activated = true};
}

void RuleAuthority::Log(const control::SyncEvent& event) {
  const auto version = ToText(event.version.id);
  shared_.log.Write(LevelOf(event.kind), EventName(event.kind),
                    {{"version", version}, {"detail", event.message}});
}

std::optional<control::VersionId> RuleAuthority::FindActivated(std::uint64_t live_number) {
  const std::lock_guard lock(activated_mutex_);
  for (auto known = activated_.rbegin(); known != activated_.rend(); ++known) {
    if (known->first == live_number && known->second.number > 0) return known->second;
  }
  return std::nullopt;
}

LoadReport RuleAuthority::Reload() {
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

LoadReport RuleAuthority::RollBack(std::uint64_t live_number, const control::Origin& origin) {
  const auto id = FindActivated(live_number);
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

void RuleAuthority::Audit(control::Origin origin, std::string action, std::string target) {
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

void RuleAuthority::AskAudits(std::function<void(api::ControlServices&)> task) {
  const bool accepted =
      audits_->Ask(std::make_shared<std::function<void(api::ControlServices&)>>(std::move(task)),
                   main_, [](const auto& /*result*/) {});
  if (accepted) return;
  shared_.log.Write(shared_.lost_audit_records, SteadyClock::Now(), LogLevel::kError,
                    "audit records lost: the control store is too slow for them", {});
}

// A log elsewhere that has the newest hash shows that records were removed at the end.
void RuleAuthority::LogNewestAuditHash() {
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

void RuleAuthority::Run(api::TaskKind kind, net::Loop& caller,
                        std::function<void(api::ControlServices&)> task,
                        std::function<void(bool ran)> done) {
  TaskThreads& threads = kind == api::TaskKind::kRead     ? *reads_
                         : kind == api::TaskKind::kChange ? *changes_
                                                          : *waits_;
  const bool accepted =
      threads.Ask(std::make_shared<std::function<void(api::ControlServices&)>>(std::move(task)),
                  caller, [done](const auto& /*result*/) { done(true); });
  if (!accepted) caller.Post([done = std::move(done)] { done(false); });
}

control::ChangeImpact RuleAuthority::EvaluateImpact(const match::RuleSet& before,
                                                    const match::RuleSet& after,
                                                    std::size_t live_nodes) const {
  if (!shared_.traffic) return {.unavailable_reason = "control.traffic_sample is false"};
  simulate::ImpactResult result = simulate::EvaluateImpact(
      shared_.traffic->Take(TheSystemClock().Now()), before, after,
      {.nodes = static_cast<std::uint32_t>(std::max<std::size_t>(live_nodes, 1))});
  if (!result.impact) return {.unavailable_reason = std::move(result.unavailable_reason)};
  const double ratio = result.impact->newly_denied_ratio();
  return {.newly_denied_ratio = ratio,
          .details = std::make_shared<const simulate::Impact>(*std::move(result.impact))};
}

std::string RuleAuthority::Describe() const {
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

api::Condition RuleAuthority::Condition() const {
  const control::SyncStats stats = Stats();
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

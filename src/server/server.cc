#include "server/server.h"

#include <array>
#include <atomic>
#include <chrono>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include <unistd.h>

#include "base/fingerprint.h"
#include "base/read_file.h"
#include "match/rule_set.h"
#include "net/address.h"
#include "net/signals.h"
#include "redis/url.h"
#include "redis/yaml.h"
#include "server/administration.h"
#include "server/example_rules.h"
#include "server/machine_memory.h"
#include "server/metrics.h"
#include "server/systemd.h"
#include "settings/setting.h"

namespace sluice::server {
namespace {

using telemetry::LogLevel;

// For rules that go on in memory while Redis does not answer.
constexpr std::size_t kKeysWithoutRedis = 1'000'000;
// Of the memory that the process may use, for input and output of connections.
constexpr std::size_t kMemoryShare = 4;
// Of this node, on their way to the control store: three of consumers, two of time series.
constexpr int kMaxReportsUnderWay = 5;
// For the last lines of the decision log.
constexpr Micros kTimeToLog = std::chrono::seconds(5);
// Maximum time that loops need to close connections past their deadline.
constexpr Micros kTimeToCut = std::chrono::milliseconds(500);
/// For calls to a control store that does not answer: each has a timeout of a second.
constexpr Micros kTimeToLeaveStore = std::chrono::seconds(5);

constexpr std::size_t kSecretBytes = 32;

// Whether only clients on this machine reach it.
bool IsLocal(const net::ListenAddress& address) {
  return address.is_unix() || address.host == "::1" || address.host.starts_with("127.");
}

Error Blame(std::string_view setting, const std::string& what) {
  return {ErrorCode::kInvalidOptions, std::string(setting) + ": " + what};
}

std::optional<Limit> EmergencyOf(const settings::Config& config) {
  const auto calls = static_cast<std::int64_t>(config.failover.calls_per_second);
  if (calls == 0) return std::nullopt;
  return *Limit::TokenBucket({.capacity = calls, .refill = Rate::PerSecond(calls)});
}

// Adds the report of a second load to that of a first, whose version stays.
void Join(LoadReport& report, LoadReport other) {
  const auto either = [&](LoadOutcome outcome) {
    return report.outcome == outcome || other.outcome == outcome;
  };
  report.outcome = either(LoadOutcome::kRefused)     ? LoadOutcome::kRefused
                   : either(LoadOutcome::kActivated) ? LoadOutcome::kActivated
                                                     : LoadOutcome::kUnchanged;
  std::move(other.errors.begin(), other.errors.end(), std::back_inserter(report.errors));
  std::move(other.warnings.begin(), other.warnings.end(), std::back_inserter(report.warnings));
}

// The address by which operators know this node: that of its first HTTP listener, with the name of
// the machine if it listens on every address.
std::string NodeAddress(std::span<const Listening> all) {
  for (const Listening& listening : all) {
    if (!listening.name.starts_with("HTTP")) continue;
    net::ListenAddress address = listening.address;
    std::array<char, 256> name{};
    const bool is_any = address.host.empty() || address.host == "0.0.0.0" || address.host == "::";
    if (!address.is_unix() && is_any && gethostname(name.data(), name.size() - 1) == 0) {
      address.host = name.data();
    }
    return net::ToText(address);
  }
  return {};
}

// At least one, unless there is no bound.
std::size_t HalfOf(std::size_t connections) { return (connections + 1) / 2; }

std::size_t ConnectionMemoryOf(const settings::Config& config) {
  return config.limits.memory > 0 ? config.limits.memory : MachineMemory() / kMemoryShare;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(const settings::Config& config) {
  net::RaiseFileLimit();
  std::unique_ptr<Server> server(new Server(config));
  if (auto prepared = server->Prepare(); !prepared) return prepared.error();
  return server;
}

Server::Server(const settings::Config& config)
    : shared_(config),
      loops_(config.threads),
      admission_({.connections = config.limits.connections,
                  .per_address = config.limits.connections_per_address.value_or(
                      HalfOf(config.limits.connections)),
                  .reserved = config.limits.reserved_connections,
                  .handshakes_per_address = config.limits.tls_handshakes_per_address,
                  .proxies = &trusted_,
                  .per_address_of_proxies = config.limits.connections_per_address.has_value()}),
      memory_(ConnectionMemoryOf(config)) {}

Server::~Server() {
  insight_.Stop();
  metrics_work_.Stop();
  rules_work_.Stop();
  if (keys_) keys_->Stop();
  if (control_) control_->Stop();
  reloader_.Stop();
  listeners_.reset();
  loops_.Do([this](std::size_t i) {
    if (i < workers_.size()) workers_[i].reset();
  });
}

Result<bool> Server::Prepare() {
  shared_.settings.enforcement = shared_.config.enforcement;
  if (shared_.config.failover.servers > 0) {
    shared_.settings.servers = static_cast<std::uint32_t>(shared_.config.failover.servers);
  }
  shared_.settings.emergency = EmergencyOf(shared_.config);
  std::optional<Error> errors;
  const auto add_error = [&errors](const Error& error) {
    if (errors) {
      errors->message += "\n" + error.message;
    } else {
      errors = error;
    }
  };
  auto constant = telemetry::ConstantLabels::Create(shared_.config.metrics_labels);
  if (constant) {
    shared_.labels = std::move(*constant);
  } else {
    add_error(Blame("metrics.labels", constant.error().message));
  }
  for (const auto step :
       {&Server::ReadSecrets, &Server::LoadIdentity, &Server::LoadAdminKeys, &Server::ChooseStore,
        &Server::LoadRules, &Server::OpenControlPlane, &Server::LoadEnvoyConfig}) {
    if (auto done = (this->*step)(); !done) add_error(done.error());
  }
  if (auto log = insight_.OpenLog(); !log) add_error(log.error());
  if (errors) return *errors;
  if (shared_.config.control.traffic_sample && control_->has_rules()) {
    shared_.traffic = std::make_unique<simulate::TrafficSampler>(
        simulate::TrafficSamplerOptions{}, loops_.size(), TheSystemClock().Now());
  }
  workers_.resize(loops_.size());
  MakeKeyAdministration();
  const ServerParts parts{.shared = shared_,
                          .workers = workers_,
                          .admission = admission_,
                          .memory = memory_,
                          .store_speed = store_speed_,
                          .memory_room = memory_room_,
                          .request_keys_room = request_keys_room_,
                          .metrics_work = metrics_work_,
                          .rules_work = rules_work_,
                          .insight = insight_,
                          .control = *control_,
                          .keys = *keys_};
  loops_.Do([this, &parts](std::size_t i) {
    workers_[i] = std::make_unique<Worker>(loops_[i], shared_,
                                           std::make_unique<Administration>(loops_[i], parts));
  });
  WatchStore();
  trusted_ = *identity::TrustedProxies::Parse(shared_.config.identity.trusted_proxies);
  listeners_ = std::make_unique<Listeners>(
      Listeners::Environment{.main = main_,
                             .loops = loops_,
                             .admission = admission_,
                             .memory = memory_,
                             .reloader = reloader_,
                             .log = shared_.log},
      shared_.config, trusted_, [this](std::size_t i) -> Worker& { return *workers_[i]; });
  if (auto open = listeners_->Open(); !open) return open;
  WarnOfPlaintextTokens();
  if (auto started = StartControlPlane(); !started) return started;
  StartInsight();
  return reloader_.Start();
}

void Server::MakeKeyAdministration() {
  if (shared_.config.memory.names_bytes > 0) {
    shared_.names =
        std::make_unique<store::KeyDirectories>(shared_.config.memory.names_bytes, loops_.size());
  }
  keys_ = std::make_unique<KeyAdministration>(KeyAdministration::Environment{
      .shared = shared_,
      .run_resets =
          [this](std::shared_ptr<KeyResets> resets) {
            loops_[0].Post([this, resets = std::move(resets)] { workers_[0]->ResetKeys(*resets); });
          },
      .audit =
          [this](const control::Origin& origin, std::string action, std::string target) {
            control_->Audit(origin, std::move(action), std::move(target));
          }});
}

Result<bool> Server::ReadSecrets() {
  std::string admin_token = shared_.config.admin.token;
  if (!shared_.config.admin.token_file.empty()) {
    const std::string& path = shared_.config.admin.token_file;
    auto token = ReadSecretFile(path);
    if (!token) return Blame("admin.token_file", path + " " + token.error().message);
    if (const auto problem = settings::AdminTokenProblem(*token))
      return Blame("admin.token_file", *problem);
    admin_token = std::move(*token);
  }
  shared_.access.bootstrap_token = std::move(admin_token);
  shared_.access.checks_need_token = shared_.config.checks.require_token;
  for (const auto& [subject, role] : shared_.config.admin.certificates) {
    shared_.access.AddCertificate(subject, role);
  }
  shared_.receipt_secret = RandomBytes(kSecretBytes);
  if (!shared_.config.receipts.secret_file.empty()) {
    const std::string& path = shared_.config.receipts.secret_file;
    auto secret = ReadSecretFile(path);
    if (!secret) return Blame("receipts.secret_file", path + " " + secret.error().message);
    shared_.receipt_secret = std::move(*secret);
  }
  return true;
}

Result<bool> Server::LoadIdentity() {
  return reloader_.Add(
      {.name = "identity",
       .thing = "keys",
       .files = WatchedFiles(shared_.config.identity.Files()),
       .load = [this](const FileChange& change, WallTime now) {
         return shared_.identity.Load(
             "identity", Fingerprint(change), now, [this]() -> LiveCandidate<identity::Identifier> {
               auto made = identity::Identifier::Make(shared_.config.identity);
               if (!made) return {.errors = {"identity: " + made.error().message}};
               return {.value = std::make_shared<const identity::Identifier>(*std::move(made))};
             });
       }});
}

Result<bool> Server::LoadAdminKeys() {
  const identity::JwtRoleOptions& options = shared_.config.admin.jwt;
  if (!options.is_on()) return true;
  shared_.access.uses_jwt = true;
  return reloader_.Add(
      {.name = "admin.jwt",
       .thing = "keys",
       .files = WatchedFiles(options.key_files),
       .load = [this](const FileChange& change, WallTime now) {
         return shared_.access.jwt.Load(
             "admin.jwt", Fingerprint(change), now, [this]() -> LiveCandidate<identity::JwtRoles> {
               auto made = identity::JwtRoles::Make(shared_.config.admin.jwt,
                                                    shared_.config.identity.jwt.key_files);
               if (!made) return {.errors = {"admin.jwt: " + made.error().message}};
               return {.value = std::make_shared<const identity::JwtRoles>(*std::move(made))};
             });
       }});
}

// A token can be read on its way, and used by its reader.
void Server::WarnOfPlaintextTokens() {
  const settings::Config& config = shared_.config;
  const bool has_tokens = !shared_.access.bootstrap_token.empty() || shared_.access.uses_jwt ||
                          shared_.access.checks_need_token;
  if (!has_tokens) return;
  for (const auto& [setting, listener] : {std::pair("http.listen", &config.http.listener),
                                          {"resp.listen", &config.resp.listener},
                                          {"grpc.listen", &config.grpc.listener},
                                          {"admin.listen", &config.admin.listener}}) {
    for (const std::string& text : listener->listen) {
      const auto address = net::ParseListenAddress(text);
      if (!address || IsLocal(*address)) continue;
      shared_.log.Write(telemetry::LogLevel::kWarn,
                        "clients beyond this machine send their tokens without encryption to this "
                        "listener: use the TLS listener",
                        {{"setting", setting}, {"address", text}});
    }
  }
}

Result<bool> Server::ChooseStore() {
  const settings::Config& config = shared_.config;
  if (!config.store.redis_file.empty()) {
    const auto text = ReadFile(config.store.redis_file);
    if (!text) return Blame("redis_file", config.store.redis_file + " " + text.error().message);
    auto options = redis::ParseYaml(*text);
    if (!options)
      return Blame("redis_file", config.store.redis_file + ": " + options.error().message);
    shared_.redis = std::move(*options);
  } else if (config.store.url != "memory") {
    auto options = redis::ParseUrl(config.store.url);
    if (!options) return Blame("store", options.error().message);
    shared_.redis = std::move(*options);
  }
  auto memory = store::MemoryStore::Create(
      {.max_keys = shared_.redis ? kKeysWithoutRedis : config.memory.max_keys,
       .max_bytes = config.memory.max_bytes,
       .caller_percent = config.request_limits.memory_percent});
  if (!memory) return Blame("memory", memory.error().message);
  shared_.memory = std::move(*memory);
  shared_.settings.bounded_store = !shared_.redis;
  if (shared_.redis && config.request_limits.redis_keys > 0) {
    auto census = store::KeyCensus::Create(config.request_limits.redis_keys);
    if (!census) return Blame("request_limits.redis_keys", census.error().message);
    shared_.caller_keys = std::move(*census);
    shared_.settings.caller_keys = shared_.caller_keys.get();
  }
  if (shared_.redis) {
    const std::int64_t nodes =
        std::max(static_cast<std::int64_t>(config.failover.servers), std::int64_t{1});
    shared_.leases = std::make_unique<lease::NodeLeases>(lease::TableOptions{.nodes = nodes});
  }
  return true;
}

Result<bool> Server::LoadRules() {
  if (shared_.config.rules_source == settings::RulesSource::kStore) return true;
  const std::string& path = shared_.config.rules;
  return reloader_.Add(
      {.name = "rules",
       .thing = "rules",
       .files = path.empty() ? WatchedFiles(std::vector<std::string>{}) : WatchedFiles(path),
       .load = [this](const auto& change, WallTime now) { return LoadRulesFrom(change, now); },
       .describe =
           [this] {
             return std::to_string(shared_.rules.Active().value->file().rules.size()) + " rules";
           },
       .error = ErrorCode::kInvalidRules});
}

// After ChooseStore. Rules that are stored, and records, are loaded once this node has an address.
Result<bool> Server::OpenControlPlane() {
  auto control = ControlPlane::Open(shared_, main_);
  if (!control) return control.error();
  control_ = *std::move(control);
  return true;
}

Result<bool> Server::StartControlPlane() {
  return control_->Start(NodeAddress(listeners_->addresses()), [this](control::NodeRecord& node) {
    const api::Condition redis = RedisCondition(workers_);
    node.store = shared_.redis ? redis.detail : "memory";
    if (shared_.redis) node.breaker = BreakerState(workers_);
  });
}

void Server::StartInsight() {
  const auto publish = [this, is_publishing = std::make_shared<std::atomic<int>>(0)](
                           std::string name, std::string text, Micros ttl) {
    // While the store does not answer, reports neither pile up nor hold up other writes.
    if (control_->Stats().consecutive_failures > 0) return;
    if (is_publishing->load() >= kMaxReportsUnderWay) return;
    is_publishing->fetch_add(1);
    control_->Run(
        api::TaskKind::kRecords, main_,
        [node = control_->node_id(), name = std::move(name), text = std::move(text),
         ttl](api::ControlServices& services) {
          // A report that is lost is followed by the next.
          (void)services.store.WriteNodeReport(name, {.node = node, .text = text}, ttl);
        },
        [is_publishing](bool /*ran*/) { is_publishing->fetch_sub(1); });
  };
  insight_.Start(NodeAddress(listeners_->addresses()), publish);
}

LoadReport Server::LoadRulesFrom(const FileChange& change, WallTime now) {
  const auto prepare = [this](rules::RuleFile& file) {
    for (rules::Rule& rule : file.rules) shared_.NumberLimits(rule);
  };
  const bool is_example = shared_.config.rules.empty();
  LoadReport report =
      is_example ? match::LoadRules(shared_.rules, "example rules", kExampleRules, now, prepare)
                 : match::LoadRules(shared_.rules, change, now, prepare);
  shared_.AddRuleWarnings(report);
  return report;
}

Result<bool> Server::LoadEnvoyConfig() {
  const std::string& path = shared_.config.envoy.config;
  if (path.empty()) return true;
  envoy::ReadOptions options{.merge_domains = shared_.config.envoy.merge_domains,
                             .prepare = [this](rules::Rule& rule) { shared_.NumberLimits(rule); }};
  return reloader_.Add(
      {.name = "envoy configuration",
       .thing = "configuration",
       .files = WatchedFiles::InDirectory(path, {".yaml", ".yml"}),
       .load =
           [this, options = std::move(options)](const FileChange& change, WallTime now) {
             LoadReport report = LoadConfig(shared_.envoy, change, options, now);
             if (report.outcome == LoadOutcome::kActivated && change.files.empty()) {
               report.warnings.push_back(shared_.config.envoy.config +
                                         ": no .yaml or .yml files; no domain is limited");
             }
             return report;
           },
       .describe =
           [this] {
             const auto active = shared_.envoy.Active().value;
             return std::to_string(active->domains().size()) + " domains, " +
                    std::to_string(active->nodes().size()) + " limits";
           },
       .error = ErrorCode::kInvalidRules});
}

Server::Ended Server::Run(const std::function<void()>& on_ready) {
  const SystemdEnvironment environment = ReadSystemdEnvironment();
  Systemd systemd(environment);
  std::size_t reloads = 0;  // Under way.
  const net::Signals signals(main_, {.on_end =
                                         [&] {
                                           systemd.Stopping();
                                           Drain();
                                         },
                                     .on_reload =
                                         [&] {
                                           systemd.Reloading();
                                           insight_.ReopenLog();
                                           ++reloads;
                                           rules_work_.Ask({.everything = true}, main_,
                                                           [&](const auto& /*report*/) {
                                                             if (--reloads == 0) systemd.Ready();
                                                           });
                                         }});
  const Watchdog watchdog(main_, systemd, environment.watchdog,
                          [this] { return loops_.TakePulse(); });
  on_ready();
  systemd.Ready();
  main_.Run();
  if (ended_ == Ended::kWell) AwaitLeaseReturns();
  if (ended_ == Ended::kWell && !insight_.TryStop(kTimeToLog)) {
    shared_.log.Write(LogLevel::kError,
                      "the decision log is still being written at shutdown; exiting without it",
                      {});
    ended_ = Ended::kStuck;
  }
  if (ended_ == Ended::kWell &&
      (!metrics_work_.TryStop(kTimeToCut) || !rules_work_.TryStop(kTimeToCut) ||
       !keys_->TryStop(kTimeToLeaveStore) || !control_->TryStop(kTimeToLeaveStore))) {
    shared_.log.Write(LogLevel::kError,
                      "rules are still being read at shutdown; exiting without them", {});
    ended_ = Ended::kStuck;
  }
  return ended_;
}

// Tokens that the store gets back now need not expire first.
void Server::AwaitLeaseReturns() {
  const SteadyTime deadline = SteadyClock::Now() + kTimeToLeaveStore;
  for (bool returns = true; returns && SteadyClock::Now() < deadline;) {
    loops_.Do([&](std::size_t i) {
      if (i == 0) returns = workers_[0]->returns_leases();
    });
    if (returns) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Server::End() {
  main_.Post([this] { Drain(); });
}

void Server::Drain() {
  if (shared_.draining.exchange(true)) return;
  shared_.log.Write(LogLevel::kInfo, "draining", {});
  control_->EndWaits();
  const SteadyTime deadline = SteadyClock::Now() + shared_.config.drain_timeout;
  last_resort_.Set(deadline + kTimeToCut);
  loops_[0].Post([this] { workers_[0]->EndLeasing(); });
  listeners_->Drain(deadline, [this] { main_.Stop(); });
}

// On the main loop, which does nothing that could keep it.
void Server::GiveUp() {
  shared_.log.Write(LogLevel::kError,
                    "an event loop did not stop before the drain timeout; exiting without it", {});
  ended_ = Ended::kStuck;
  main_.Stop();
}

LoadReport Server::RunRulesTask(const RulesTask& task) {
  LoadReport report;
  if (task.roll_back_to && control_->has_rules()) {
    report = control_->RollBack(*task.roll_back_to, task.origin);
  } else if (task.roll_back_to) {
    if (const auto active = shared_.rules.Rollback(*task.roll_back_to, TheSystemClock().Now())) {
      report = {.outcome = LoadOutcome::kActivated, .version = *active};
    }
  } else if (task.everything) {
    reloader_.ReloadAll();
    if (control_->has_rules()) {
      control_->Audit({.author = "SIGHUP", .authentication = "local"}, "rules.reload", {});
      control_->Reload();
    }
  } else {
    report = control_->has_rules() ? control_->Reload() : reloader_.Reload("rules");
    if (!shared_.config.envoy.config.empty()) Join(report, reloader_.Reload("envoy configuration"));
  }
  return report;
}

std::string Server::MetricsPage(api::MetricsFormat format) const {
  std::vector<const Worker*> workers;
  for (const auto& worker : workers_) workers.push_back(worker.get());
  std::string page;
  AppendServerMetrics(shared_, workers, listeners_->Figures(), *control_, insight_.Metrics(),
                      format, page);
  return page;
}

std::string Server::DescribeRules() const {
  if (control_->has_rules()) return control_->Describe();
  const std::string& file = shared_.config.rules;
  return file.empty() ? "the examples (--rules FILE for yours)" : file;
}

std::string Server::DescribeStore() const {
  if (!shared_.redis) return "memory";
  const settings::StoreSettings& store = shared_.config.store;
  const std::string where = store.redis_file.empty()
                                ? settings::FindSetting("store")->access.get(shared_.config)
                                : "Redis, as " + store.redis_file + " says";
  return where + " (" + RedisCondition(workers_).detail + ")";
}

void Server::WatchRoom() {
  const SteadyTime now = SteadyClock::Now();
  if (shared_.caller_keys) {
    if (const auto calls = request_keys_room_.Update(shared_.caller_keys->refused(), now)) {
      shared_.log.Write(LogLevel::kWarn,
                        "too many keys of limits in requests: calls with new keys are refused",
                        {{"calls", calls},
                         {"keys", shared_.caller_keys->Count(TheSystemClock().Now())},
                         {"request_limits.redis_keys", shared_.caller_keys->bound()}});
    }
  }
  const store::MemoryStoreStats stats = shared_.memory->StatsApprox();
  const auto calls = memory_room_.Update(stats.refused, now);
  if (calls == 0) return;
  shared_.log.Write(LogLevel::kWarn, "memory store full: calls with new keys got their when_full",
                    {{"calls", calls},
                     {"keys", stats.keys},
                     {"max_keys", stats.max_keys},
                     {"request_keys", stats.caller_keys},
                     {"max_request_keys", stats.max_caller_keys},
                     {"bytes", stats.bytes},
                     {"max_bytes", stats.max_bytes}});
}

void Server::WatchStore() {
  WatchRoom();
  Histogram times;
  for (const auto& worker : workers_) times += worker->loop_counters().decisions.storage_times;
  store_speed_.Update(times);
  store_watch_.Set(SteadyClock::Now() + StoreSpeed::kStretch);
}

}  // namespace sluice::server

#include "server/server.h"

#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include <openssl/rand.h>

#include "redis/url.h"
#include "redis/yaml.h"
#include "rules/rule_set.h"
#include "server/identity_settings.h"
#include "server/metrics.h"
#include "server/signals.h"
#include "server/systemd.h"

namespace sluice::server {
namespace {

using telemetry::LogLevel;

// For rules that go on in memory while Redis does not answer.
constexpr std::size_t kKeysWithoutRedis = 1'000'000;
// What loops need at most to cut off connections whose time is over.
constexpr Micros kTimeToCut = std::chrono::milliseconds(500);
constexpr std::string_view kTooManyHttp =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n"
    "Retry-After: 1\r\n\r\n";
constexpr std::string_view kTooManyResp = "-ERR max number of clients reached\r\n";
constexpr std::string_view kPlainHttp =
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    "Content-Length: 41\r\n\r\nThis port speaks HTTPS: ask with https://";
// An empty SETTINGS frame, and a GOAWAY that says that nothing was looked at.
constexpr std::string_view kTooManyGrpc{
    "\0\0\0\4\0\0\0\0\0"
    "\0\0\x8\7\0\0\0\0\0\0\0\0\0\0\0\0\0",
    26};
constexpr std::string_view kPlainGrpc =
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    "Content-Length: 32\r\n\r\nThis port speaks gRPC with TLS.\n";
constexpr std::string_view kPlainResp = "-ERR this port speaks TLS\r\n";

Error Blame(std::string_view setting, const std::string& what) {
  return {ErrorCode::kInvalidOptions, std::string(setting) + ": " + what};
}

// The first line of a file, as secrets are kept in.
Result<std::string> ReadSecretFile(std::string_view setting, const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  if (!file && line.empty()) return Blame(setting, path + " can't be read, or is empty");
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

std::string RandomSecret() {
  std::string secret(32, '\0');
  RAND_bytes(reinterpret_cast<unsigned char*>(secret.data()), static_cast<int>(secret.size()));
  return secret;
}

limiter::Enforcement EnforcementOf(std::string_view name) {
  if (name == "shadow") return limiter::Enforcement::kShadow;
  return name == "off" ? limiter::Enforcement::kOff : limiter::Enforcement::kOn;
}

std::optional<Limit> EmergencyOf(const Config& config) {
  const auto calls = static_cast<std::int64_t>(config.emergency_per_second);
  if (calls == 0) return std::nullopt;
  return *Limit::TokenBucket({.capacity = calls, .refill = Rate::PerSecond(calls)});
}

telemetry::LogOptions LogOptionsOf(const Config& config) {
  telemetry::LogOptions options;
  options.format =
      config.log_format == "json" ? telemetry::LogFormat::kJson : telemetry::LogFormat::kText;
  for (const LogLevel level :
       {LogLevel::kError, LogLevel::kWarn, LogLevel::kInfo, LogLevel::kDebug}) {
    if (telemetry::LabelOf(level) == config.log_level) options.level = level;
  }
  return options;
}

// What is told of two loads as of one, whose version is that of the first.
void Join(rules::LoadReport& report, rules::LoadReport other) {
  using rules::LoadOutcome;
  const auto either = [&](LoadOutcome outcome) {
    return report.outcome == outcome || other.outcome == outcome;
  };
  report.outcome = either(LoadOutcome::kRefused)     ? LoadOutcome::kRefused
                   : either(LoadOutcome::kActivated) ? LoadOutcome::kActivated
                                                     : LoadOutcome::kUnchanged;
  std::move(other.mistakes.begin(), other.mistakes.end(), std::back_inserter(report.mistakes));
  std::move(other.warnings.begin(), other.warnings.end(), std::back_inserter(report.warnings));
}

EntranceOptions EntranceOptionsOf(const Config& config, std::string_view refusal) {
  EntranceOptions options;
  options.limits.hard_output_bytes = config.max_output_bytes;
  options.limits.soft_output_bytes =
      std::min(options.limits.soft_output_bytes, config.max_output_bytes / 2);
  options.limits.max_pending = config.max_pipelined;
  options.limits.idle_timeout = config.idle_timeout;
  options.limits.request_timeout = config.request_timeout;
  options.refusal = refusal;
  return options;
}

// Its sessions look after their time themselves: a connection without calls is told before it ends,
// and one that is silent may still watch something.
void LetSessionsKeepTime(const Config& config, ConnectionLimits& limits) {
  limits.idle_timeout = Micros{0};
  for (const Micros time :
       {config.idle_timeout, config.grpc_max_connection_age, config.grpc_max_connection_age_grace,
        config.grpc_keepalive_interval, config.grpc_keepalive_timeout}) {
    if (time > Micros{0}) limits.look = std::min(limits.look, time / 4);
  }
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(const Config& config) {
  RaiseFileLimit();
  std::unique_ptr<Server> server(new Server(config, LogOptionsOf(config)));
  if (auto prepared = server->Prepare(); !prepared) return prepared.error();
  return server;
}

Server::Server(const Config& config, const telemetry::LogOptions& log)
    : shared_(config, log),
      loops_(config.threads),
      admission_({.connections = config.max_connections,
                  .per_address = config.max_connections_per_address}),
      tls_(main_, shared_.log) {}

Server::~Server() {
  watch_.reset();
  envoy_.Stop();
  http_.reset();
  resp_.reset();
  grpc_.reset();
  loops_.Do([this](std::size_t i) {
    if (i < workers_.size()) workers_[i].reset();
  });
}

Result<bool> Server::Prepare() {
  shared_.settings.enforcement = EnforcementOf(shared_.config.enforcement);
  if (shared_.config.servers > 0) {
    shared_.settings.servers = static_cast<std::uint32_t>(shared_.config.servers);
  }
  shared_.settings.emergency = EmergencyOf(shared_.config);
  std::optional<Error> mistakes;
  const auto tell = [&mistakes](const Error& mistake) {
    if (mistakes) {
      mistakes->message += "\n" + mistake.message;
    } else {
      mistakes = mistake;
    }
  };
  auto constant = telemetry::ConstantLabels::Create(shared_.config.metrics_labels);
  if (constant) {
    shared_.labels = std::move(*constant);
  } else {
    tell(Blame("metrics.labels", constant.error().message));
  }
  for (const auto step : {&Server::ReadSecrets, &Server::LearnIdentity, &Server::ChooseStore,
                          &Server::LoadRules, &Server::LoadEnvoyConfig}) {
    if (auto done = (this->*step)(); !done) tell(done.error());
  }
  if (mistakes) return *mistakes;
  workers_.resize(loops_.size());
  loops_.Do([this](std::size_t i) {
    workers_[i] = std::make_unique<Worker>(loops_[i], shared_, static_cast<Operations&>(*this));
    if (i == 0 && shared_.redis) workers_[i]->StartHeartbeat();
  });
  if (shared_.redis) WatchStoreSpeed();
  trusted_ = *identity::TrustedProxies::Parse(shared_.config.identity.trusted_proxies);
  const auto entrance = [this](EntranceOptions options, bool proxied, auto new_session) {
    if (proxied) options.proxies = &trusted_;
    return std::make_unique<Entrance>(
        main_, loops_, admission_, options, [this, new_session](std::size_t i) -> MakeSession {
          return [worker = workers_[i].get(), new_session](api::SessionHost& carrier,
                                                           const ConnectionFacts& facts) {
            return (worker->*new_session)(carrier, facts);
          };
        });
  };
  const Config& config = shared_.config;
  http_ = entrance(EntranceOptionsOf(config, kTooManyHttp), config.http_proxy_protocol,
                   &Worker::NewHttpSession);
  resp_ = entrance(EntranceOptionsOf(config, kTooManyResp), config.resp_proxy_protocol,
                   &Worker::NewRespSession);
  EntranceOptions grpc = EntranceOptionsOf(config, kTooManyGrpc);
  LetSessionsKeepTime(config, grpc.limits);
  grpc_ = entrance(grpc, config.grpc_proxy_protocol, &Worker::NewGrpcSession);
  return Open();
}

Result<bool> Server::Open() {
  const Config& config = shared_.config;
  auto open = Listen(*http_, config.http_listen, "http", Security::kPlain, at_.http);
  if (open) {
    open = ListenWithTls(*http_, "http_tls", config.http_tls,
                         TlsOptionsOf(config.http_tls, "http/1.1", kPlainHttp), at_.http_tls);
  }
  if (open) open = Listen(*resp_, config.resp_listen, "resp", Security::kPlain, at_.resp);
  if (open) {
    open = ListenWithTls(*resp_, "resp_tls", config.resp_tls,
                         TlsOptionsOf(config.resp_tls, "", kPlainResp), at_.resp_tls);
  }
  if (open) open = Listen(*grpc_, config.grpc_listen, "grpc", Security::kPlain, at_.grpc);
  if (open) {
    open = ListenWithTls(*grpc_, "grpc_tls", config.grpc_tls,
                         TlsOptionsOf(config.grpc_tls, "h2", kPlainGrpc), at_.grpc_tls);
  }
  return open;
}

Result<bool> Server::ReadSecrets() {
  shared_.admin_token = shared_.config.admin_token;
  if (!shared_.config.admin_token_file.empty()) {
    auto token = ReadSecretFile("admin.token_file", shared_.config.admin_token_file);
    if (!token) return token.error();
    shared_.admin_token = std::move(*token);
  }
  shared_.receipt_secret = RandomSecret();
  if (!shared_.config.receipt_secret_file.empty()) {
    auto secret = ReadSecretFile("receipts.secret_file", shared_.config.receipt_secret_file);
    if (!secret) return secret.error();
    shared_.receipt_secret = std::move(*secret);
  }
  return true;
}

// Reads the files that tell who calls: keys of tokens, and the secret that hides keys.
Result<bool> Server::LearnIdentity() {
  auto made = identity::Identifier::Make(IdentityOptionsOf(shared_.config.identity));
  if (!made) return Blame("identity", made.error().message);
  shared_.identifier = std::make_shared<const identity::Identifier>(*std::move(made));
  return true;
}

// The same while it runs; if it fails, what was known before stays.
void Server::LearnIdentityAgain() {
  if (auto learned = LearnIdentity(); !learned) {
    shared_.log.Write(LogLevel::kError, "who calls is told as before",
                      {{"mistake", learned.error().message}});
    return;
  }
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    loops_[i].Post([worker = workers_[i].get(), identifier = shared_.identifier] {
      worker->UseIdentifier(identifier);
    });
  }
}

Result<bool> Server::ChooseStore() {
  const Config& config = shared_.config;
  if (!config.redis_file.empty()) {
    std::ifstream file(config.redis_file);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) return Blame("redis_file", config.redis_file + " can't be read");
    auto options = redis::ParseYaml(text.str());
    if (!options) return Blame("redis_file", config.redis_file + ": " + options.error().message);
    shared_.redis = std::move(*options);
  } else if (config.store != "memory") {
    auto options = redis::ParseUrl(config.store);
    if (!options) return Blame("store", options.error().message);
    shared_.redis = std::move(*options);
  }
  auto memory = store::MemoryStore::Create(
      {.max_keys = shared_.redis ? kKeysWithoutRedis : config.memory_max_keys,
       .max_bytes = shared_.redis ? 0 : config.memory_max_bytes});
  if (!memory) return Blame("memory", memory.error().message);
  shared_.memory = std::move(*memory);
  if (shared_.redis) {
    const std::int64_t nodes = std::max<std::int64_t>(config.servers, 1);
    shared_.leases = std::make_unique<lease::NodeLeases>(lease::TableOptions{.nodes = nodes});
  }
  return true;
}

Result<bool> Server::LoadRules() {
  const std::string& path = shared_.config.rules;
  rules::FileWatcher watcher(path);
  const rules::LoadReport report =
      path.empty()
          ? shared_.rules.Load("the example rules", kExampleRules, TheSystemClock().Now())
          : shared_.rules.Load(watcher.LookNow(SteadyClock::Now()), TheSystemClock().Now());
  TellOfLoad(report);
  if (report.outcome == rules::LoadOutcome::kRefused) {
    std::string mistakes;
    for (const rules::Mistake& mistake : report.mistakes) mistakes += "\n" + Describe(mistake);
    return Error{ErrorCode::kInvalidRules, "the rules have mistakes:" + mistakes};
  }
  if (path.empty()) return true;
  try {
    watch_ = std::make_unique<rules::WatchThread>(
        std::move(watcher), [this](const rules::FileChange& change) {
          TellOfLoad(shared_.rules.Load(change, TheSystemClock().Now()));
        });
  } catch (const std::system_error& error) {
    return Blame("rules", path + " can't be watched: " + error.what());
  }
  return true;
}

void Server::TellOfLoad(const rules::LoadReport& report) {
  for (const rules::Mistake& mistake : report.mistakes) {
    shared_.log.Write(LogLevel::kError, "mistake in the rules", {{"mistake", Describe(mistake)}});
  }
  for (const rules::Mistake& warning : report.warnings) {
    shared_.log.Write(LogLevel::kWarn, "doubt about the rules", {{"doubt", Describe(warning)}});
  }
  if (report.outcome == rules::LoadOutcome::kRefused) {
    shared_.log.Write(
        LogLevel::kError,
        report.version == 0 ? "rules refused" : "rules refused; those before stay in force",
        {{"version", report.version}});
  } else if (report.outcome == rules::LoadOutcome::kActivated) {
    shared_.log.Write(
        LogLevel::kInfo, "rules in force",
        {{"version", report.version}, {"rules", shared_.rules.Active()->file().rules.size()}});
  }
}

Result<bool> Server::Listen(Entrance& entrance, const std::vector<std::string>& addresses,
                            std::string_view section, Security security,
                            std::vector<net::ListenAddress>& at) {
  const std::string setting = std::string(section) + ".listen";
  for (const std::string& text : addresses) {
    auto address = net::ParseListenAddress(text);
    if (!address) return Blame(setting, address.error().message);
    auto real = entrance.Listen({.address = *address}, security);
    if (!real) return Blame(setting, real.error().message);
    shared_.log.Write(LogLevel::kInfo, "listening",
                      {{"protocol", section}, {"address", net::ToText(*real)}});
    at.push_back(std::move(*real));
  }
  return true;
}

Result<bool> Server::ListenWithTls(Entrance& entrance, std::string_view section,
                                   const TlsSettings& settings,
                                   const net::TlsServerOptions& options,
                                   std::vector<net::ListenAddress>& at) {
  if (settings.listen.empty()) return true;
  if (auto kept = tls_.Keep(std::string(section), options, entrance); !kept) return kept.error();
  return Listen(entrance, settings.listen, section, Security::kTls, at);
}

Server::Ended Server::Run(const std::function<void()>& on_ready) {
  const SystemdEnvironment environment = ReadSystemdEnvironment();
  Systemd systemd(environment);
  const Signals signals(main_, {.on_end =
                                    [&] {
                                      systemd.Stopping();
                                      Drain();
                                    },
                                .on_reload =
                                    [&] {
                                      systemd.Reloading();
                                      ReloadRules();
                                      tls_.Reload();
                                      LearnIdentityAgain();
                                      systemd.Ready();
                                    }});
  const Watchdog watchdog(main_, systemd, environment.watchdog,
                          [this] { return loops_.TakePulse(); });
  on_ready();
  systemd.Ready();
  main_.Run();
  return ended_;
}

void Server::End() {
  main_.Post([this] { Drain(); });
}

void Server::Drain() {
  if (shared_.draining.exchange(true)) return;
  shared_.log.Write(LogLevel::kInfo, "ending", {});
  const SteadyTime deadline = SteadyClock::Now() + shared_.config.drain_timeout;
  last_resort_.Set(deadline + kTimeToCut);
  entrances_open_ = 3;
  for (Entrance* entrance : {http_.get(), resp_.get(), grpc_.get()}) {
    entrance->Drain(deadline, [this] {
      if (--entrances_open_ == 0) main_.Stop();
    });
  }
}

// On the main loop, which does nothing that could keep it.
void Server::GiveUp() {
  shared_.log.Write(LogLevel::kError, "a loop did not end in time; ending without it", {});
  ended_ = Ended::kStuck;
  main_.Stop();
}

rules::LoadReport Server::ReloadRules() {
  const std::string& path = shared_.config.rules;
  rules::LoadReport report{.outcome = rules::LoadOutcome::kUnchanged,
                           .version = shared_.rules.Status().active.number,
                           .mistakes = {},
                           .warnings = {}};
  if (!path.empty()) {
    report = shared_.rules.Load(rules::FileWatcher(path).LookNow(SteadyClock::Now()),
                                TheSystemClock().Now());
    TellOfLoad(report);
  }
  if (auto envoy = envoy_.Reload()) Join(report, *std::move(envoy));
  return report;
}

// With many rules the page takes milliseconds; on the loops, clients would wait for it.
void Server::MakeMetrics(net::Loop& asker, api::MetricsFormat format,
                         std::function<void(std::string page)> done) {
  main_.Post([this, &asker, format, done = std::move(done)] {
    std::vector<const Worker*> workers;
    for (const auto& worker : workers_) workers.push_back(worker.get());
    const EntranceFigures entrances[] = {
        {.protocol = telemetry::Protocol::kHttp,
         .connections = http_->Totals(),
         .tls = tls_.Find("http_tls")},
        {.protocol = telemetry::Protocol::kResp,
         .connections = resp_->Totals(),
         .tls = tls_.Find("resp_tls")},
        {.protocol = telemetry::Protocol::kGrpc,
         .connections = grpc_->Totals(),
         .tls = tls_.Find("grpc_tls")},
    };
    const auto page = std::make_shared<std::string>();
    AppendServerMetrics(shared_, workers, entrances, format, *page);
    asker.Post([page, done] { done(std::move(*page)); });
  });
}

api::Health Server::CheckHealth() {
  const rules::RulesStatus rules = shared_.rules.Status();
  api::Health health;
  health.conditions.push_back(
      {.name = "rules",
       .ok = !rules.failing,
       .detail =
           "version " + std::to_string(rules.active.number) +
           (rules.failing ? "; the file has mistakes, so it is not what the file says" : "")});
  if (auto envoy = envoy_.Check()) health.conditions.push_back(*std::move(envoy));
  if (shared_.redis) {
    health.conditions.push_back(RedisCondition());
    const bool fast = !store_speed_.is_slow();
    health.conditions.push_back({.name = "redis_latency",
                                 .ok = fast,
                                 .detail = fast ? "" : "over 5 ms for one call in a hundred"});
  } else {
    health.conditions.push_back(
        {.name = "memory",
         .ok = true,
         .detail = std::to_string(shared_.memory->StatsApprox().keys) + " keys"});
  }
  const bool draining = shared_.draining.load();
  health.conditions.push_back(
      {.name = "accepting", .ok = !draining, .detail = draining ? "the server is ending" : ""});
  health.ready = !draining;
  return health;
}

// Not ok does not mean not ready: rules say what happens meanwhile.
api::Condition Server::RedisCondition() const {
  std::size_t connected = 0;
  std::size_t open = 0;
  for (const auto& worker : workers_) {
    const redis::Stats stats = worker->RedisStatsApprox();
    if (stats.state == redis::State::kReady) ++connected;
    open += stats.breakers_open + stats.breakers_half_open;
  }
  std::string detail = std::to_string(connected) + " of " + std::to_string(workers_.size()) +
                       " event loops connected";
  if (open > 0) detail += "; circuit breakers that are not closed: " + std::to_string(open);
  return {.name = "redis", .ok = connected == workers_.size() && open == 0, .detail = detail};
}

void Server::WatchStoreSpeed() {
  telemetry::HistogramTotals totals;
  for (const auto& worker : workers_) worker->counters().AddStorageTimes(totals);
  store_speed_.Look(totals);
  speed_watch_.Set(SteadyClock::Now() + StoreSpeed::kStretch);
}

std::vector<std::pair<std::string, std::uint64_t>> Server::StoreNumbers() {
  const store::MemoryStoreStats memory = shared_.memory->StatsApprox();
  return {{"keys", memory.keys},
          {"bytes", memory.bytes},
          {"expired", memory.expired},
          {"refused", memory.refused}};
}

}  // namespace sluice::server

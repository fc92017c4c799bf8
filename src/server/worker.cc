#include "server/worker.h"

#include <array>

#include <openssl/crypto.h>

#include "api/grpc_session.h"
#include "api/http_session.h"
#include "api/resp_session.h"
#include "base/clock.h"
#include "server/version.h"

namespace sluice::server {
namespace {

using limiter::Question;
using telemetry::Allowed;
using telemetry::CallOutcome;

telemetry::Protocol LabelOf(api::Protocol protocol) {
  switch (protocol) {
    case api::Protocol::kHttp:
      return telemetry::Protocol::kHttp;
    case api::Protocol::kResp:
      return telemetry::Protocol::kResp;
    case api::Protocol::kGrpc:
      return telemetry::Protocol::kGrpc;
  }
  return telemetry::Protocol::kHttp;
}

const rules::Rule* RuleOfHeadline(const Question& question) {
  return question.uses().empty() ? nullptr : question.met(question.headline.index).rule;
}

telemetry::FailureMode ModeOf(const Question& question) {
  const rules::Rule* const rule = RuleOfHeadline(question);
  if (rule == nullptr) return telemetry::FailureMode::kOpen;
  switch (rule->on_store_failure) {
    case rules::OnStoreFailure::kOpen:
      return telemetry::FailureMode::kOpen;
    case rules::OnStoreFailure::kClosed:
      return telemetry::FailureMode::kClosed;
    case rules::OnStoreFailure::kLocal:
      return telemetry::FailureMode::kLocal;
  }
  return telemetry::FailureMode::kOpen;
}

api::HttpOptions HttpOptionsOf(const Shared& shared) {
  const Config& config = shared.config;
  api::HttpOptions options;
  options.limits.max_header_bytes = config.max_header_bytes;
  options.limits.max_body = config.max_body_bytes;
  options.max_pending = config.max_pipelined;
  options.header_style = FindHeaderStyle(config.header_style).value_or(HeaderStyle::kXRateLimit);
  options.retry_after_jitter_percent = static_cast<int>(config.retry_after_jitter_percent);
  options.limits_in_requests = config.limits_in_requests;
  options.receipt_secret = shared.receipt_secret;
  for (const auto& [header, attribute] : config.forward_auth_headers) {
    options.proxy_headers.push_back({.header = header, .attribute = attribute});
  }
  return options;
}

api::GrpcOptions GrpcOptionsOf(const Config& config) {
  return {.deadline = config.grpc_deadline,
          .max_message_bytes = config.grpc_max_message_bytes,
          .max_header_bytes = config.max_header_bytes,
          .max_streams = config.grpc_max_streams,
          .request_timeout = config.request_timeout,
          .idle_timeout = config.idle_timeout,
          .max_connection_age = config.grpc_max_connection_age,
          .max_connection_age_grace = config.grpc_max_connection_age_grace,
          .keepalive_interval = config.grpc_keepalive_interval,
          .keepalive_timeout = config.grpc_keepalive_timeout};
}

api::EnvoyOptions EnvoyOptionsOf(const Config& config) {
  const std::string& headers = config.envoy_response_headers;
  return {.rule_domains = config.envoy_rule_domains,
          .ratelimit_headers = headers == "ratelimit",
          .header_style = FindHeaderStyle(headers).value_or(HeaderStyle::kNone)};
}

CallOutcome OutcomeOf(const Question& question) {
  switch (question.ruling) {
    case Ruling::kDecided:
      return question.allowed ? CallOutcome::kAllowed : CallOutcome::kDenied;
    case Ruling::kAllowListed:
      return CallOutcome::kBypassed;
    case Ruling::kDenyListed:
      return CallOutcome::kBlocked;
    case Ruling::kNoRule:
    case Ruling::kNotEnforced:
      return question.allowed ? CallOutcome::kUnlimited : CallOutcome::kBlocked;
    case Ruling::kDegraded:
      if (question.allowed) return CallOutcome::kAllowed;
      return ModeOf(question) == telemetry::FailureMode::kClosed ? CallOutcome::kUnavailable
                                                                 : CallOutcome::kDenied;
    case Ruling::kInvalid:
      return CallOutcome::kInvalid;
  }
  return CallOutcome::kInvalid;
}

}  // namespace

Worker::Worker(net::Loop& loop, Shared& shared, Operations& operations)
    : loop_(loop),
      shared_(shared),
      operations_(operations),
      counters_(shared.rule_ids),
      identifier_(shared.identifier),
      redis_(shared.redis ? redis::MakeService(loop, *shared.redis) : nullptr),
      redis_store_(redis_ ? std::make_unique<store::RedisStore>(
                                loop, *redis_,
                                store::RedisStoreOptions{.deadline = shared.config.store_deadline})
                          : nullptr),
      leases_(redis_ ? std::make_unique<lease::LoopLeases>(loop, *redis_, *shared.redis,
                                                           *redis_store_, *shared.leases)
                     : nullptr),
      reader_(shared.rules),
      limiter_(leases_ ? static_cast<store::Store&>(leases_->store()) : *shared.memory,
               redis_store_ ? shared.memory.get() : nullptr, reader_, shared.settings),
      envoy_(shared.envoy, EnvoyOptionsOf(shared.config)),
      http_(*this, HttpOptionsOf(shared)),
      resp_(*this, shared.config.max_pipelined),
      grpc_(*this, GrpcOptionsOf(shared.config)) {
  limiter_.Observe(this);
  if (shared.leases) limiter_.StartLocalFrom(&shared.leases->table);
  for (std::size_t i = 0; i < own_limits_.size(); ++i) {
    own_limits_[i] = shared.rule_ids.Intern(kOwnLimits, static_cast<Algorithm>(i));
  }
  if (!redis_) return;
  redis_->OnBreakerChange([this](const redis::BreakerChange& change) { TellOfBreaker(change); });
  redis_->Connect();
}

// Every question is answered before what it needs is gone.
Worker::~Worker() {
  if (redis_) redis_->Close();
  redis_store_.reset();
}

void Worker::StartHeartbeat() {
  heartbeat_ = std::make_unique<Heartbeat>(loop_, *redis_, [this](std::uint32_t servers) {
    if (shared_.config.servers > 0) return;  // The operator knows better.
    shared_.leases->table.SetNodes(servers);
    const std::uint32_t before =
        shared_.settings.servers.exchange(servers, std::memory_order_relaxed);
    if (before == servers) return;
    shared_.log.Write(telemetry::LogLevel::kInfo, "servers at this Redis",
                      {{"servers", servers}, {"before", before}});
  });
}

std::unique_ptr<api::Session> Worker::NewHttpSession(api::SessionHost& carrier,
                                                     const ConnectionFacts& facts) {
  return std::make_unique<api::HttpSession>(http_, carrier, PeerOf(facts));
}

std::unique_ptr<api::Session> Worker::NewRespSession(api::SessionHost& carrier,
                                                     const ConnectionFacts& facts) {
  return std::make_unique<api::RespSession>(resp_, carrier, PeerOf(facts));
}

std::unique_ptr<api::Session> Worker::NewGrpcSession(api::SessionHost& carrier,
                                                     const ConnectionFacts& facts) {
  return std::make_unique<api::GrpcSession>(grpc_, carrier, PeerOf(facts));
}

api::Peer Worker::PeerOf(const ConnectionFacts& facts) {
  const std::optional<Address> ip =
      facts.proxied_for ? facts.proxied_for : AddressOf(facts.peer.bytes());
  std::array<char, kMaxAddressText> text;
  return {.address = ip ? std::string(FormatAddress(*ip, text)) : std::string(),
          .is_local = facts.peer.is_local() && !facts.is_proxied,
          .port = facts.proxied_for ? std::uint16_t{0} : facts.peer.port(),
          .ip = ip,
          .asked_for_certificate = facts.asked_for_certificate,
          .tls_subject = facts.subject.name,
          .tls_cn = facts.subject.common_name};
}

redis::Stats Worker::RedisStatsApprox() const {
  return redis_ ? redis_->StatsApprox() : redis::Stats{};
}

store::RedisStoreStats Worker::StoreStatsApprox() const {
  return redis_store_ ? redis_store_->StatsApprox() : store::RedisStoreStats{};
}

void Worker::CountAnswer(api::Protocol protocol, const Question& question) {
  if (question.operation != store::Operation::kCheck) return;
  counters_.CountCall(LabelOf(protocol), OutcomeOf(question));
  switch (question.ruling) {
    case Ruling::kDecided:
      CountLimits(question);
      break;
    case Ruling::kAllowListed:
      counters_.CountListHit(telemetry::List::kAllow);
      break;
    case Ruling::kDenyListed:
      counters_.CountListHit(telemetry::List::kDeny);
      break;
    case Ruling::kDegraded:
      counters_.CountDegraded(ModeOf(question));
      counters_.CountStorageError(question.error);
      break;
    default:
      break;
  }
}

// While a server is gone its breaker tries again and again: only the debug log has all of that.
void Worker::TellOfBreaker(const redis::BreakerChange& change) {
  using redis::Breaker;
  if (change.from == change.to) {
    shared_.log.Write(telemetry::LogLevel::kWarn, "no connection to Redis",
                      {{"server", change.server}, {"reason", change.reason}});
    return;
  }
  const bool opens = change.from == Breaker::State::kClosed;
  const bool closes = change.to == Breaker::State::kClosed;
  const auto level = opens    ? telemetry::LogLevel::kWarn
                     : closes ? telemetry::LogLevel::kInfo
                              : telemetry::LogLevel::kDebug;
  shared_.log.Write(level, "circuit breaker of Redis",
                    {{"server", change.server},
                     {"from", redis::NameOf(change.from)},
                     {"to", redis::NameOf(change.to)},
                     {"reason", change.reason}});
}

void Worker::CountLimits(const Question& question) {
  for (std::size_t i = 0; i < question.uses().size(); ++i) {
    const store::Use& use = question.uses()[i];
    const rules::NamedLimit* const limit = question.met(i).limit;
    const telemetry::RuleSeries series =
        limit != nullptr ? telemetry::RuleSeries{limit->number}
                         : own_limits_[static_cast<std::size_t>(use.limit->algorithm())];
    const bool fits = use.verdict.outcome == Outcome::kAllowed;
    if (use.mode == Mode::kShadow && !fits) {
      counters_.CountShadowDenial(series);
    } else {
      counters_.CountLimit(series, fits ? Allowed::kYes : Allowed::kNo);
    }
  }
}

void Worker::CountProtocolError(api::Protocol protocol) {
  counters_.CountProtocolError(LabelOf(protocol));
}

void Worker::CountAbuse(wire::Http2Abuse abuse) {
  using wire::Http2Abuse;
  static_assert(static_cast<std::size_t>(Http2Abuse::kSlowReader) + 1 ==
                telemetry::kLabels<telemetry::Http2Abuse>.size());
  counters_.CountAbuse(static_cast<telemetry::Http2Abuse>(abuse));
}

bool Worker::SamplesThis() { return counters_.SampleThis(); }

void Worker::Took(const Question& question, const limiter::TimesTaken& times) {
  if (question.uses().empty()) return;
  const store::Use& use = question.uses()[question.headline.index];
  counters_.RecordCheck(use.limit->algorithm(), question.allowed ? Allowed::kYes : Allowed::kNo,
                        times.whole);
  counters_.RecordStorage(times.store);
}

bool Worker::IsAdminToken(std::string_view token) const {
  const std::string& right = shared_.admin_token;
  return !right.empty() && token.size() == right.size() &&
         CRYPTO_memcmp(token.data(), right.data(), right.size()) == 0;
}

std::string_view Worker::version() const { return kVersion; }

limiter::Enforcement Worker::enforcement() const {
  return shared_.settings.enforcement.load(std::memory_order_relaxed);
}

void Worker::SetEnforcement(limiter::Enforcement enforcement) {
  shared_.settings.enforcement.store(enforcement, std::memory_order_relaxed);
  shared_.log.Write(telemetry::LogLevel::kWarn, "enforcement switched",
                    {{"to", limiter::NameOf(enforcement)}});
}

bool Worker::SetLogLevel(std::string_view level) {
  for (const auto known : {telemetry::LogLevel::kError, telemetry::LogLevel::kWarn,
                           telemetry::LogLevel::kInfo, telemetry::LogLevel::kDebug}) {
    if (telemetry::LabelOf(known) != level) continue;
    shared_.log.set_level(known);
    return true;
  }
  return false;
}

std::string_view Worker::log_level() const { return telemetry::LabelOf(shared_.log.level()); }

}  // namespace sluice::server

#include "server/worker.h"

#include <algorithm>
#include <array>

#include <openssl/crypto.h>

#include "api/call_record.h"
#include "api/grpc/session.h"
#include "api/http/session.h"
#include "api/resp/session.h"
#include "base/clock.h"
#include "base/random.h"
#include "control/version.h"
#include "server/version.h"

namespace sluice::server {
namespace {

using limiter::CheckRequest;
api::RequestLimitBounds BoundsOf(const settings::Config& config) {
  return {.max_refill_time = config.request_limits.max_refill_time,
          .max_log_entries = static_cast<std::int64_t>(config.request_limits.max_log_entries),
          .max_slots = static_cast<std::int64_t>(config.request_limits.max_slots)};
}

api::ReceiptOptions ReceiptOptionsOf(const Shared& shared) {
  const settings::ReceiptSettings& receipts = shared.config.receipts;
  return {.secret = shared.receipt_secret,
          .lifetime = receipts.lifetime,
          .max_settled_per_key = static_cast<std::uint32_t>(receipts.max_settled_per_key)};
}

api::HttpOptions HttpOptionsOf(const Shared& shared) {
  const settings::Config& config = shared.config;
  api::HttpOptions options;
  options.limits.max_header_bytes = config.limits.header_bytes;
  options.limits.max_body = config.limits.body_bytes;
  options.limits.max_large_body = control::kMaxDocumentBytes;
  options.max_pending = config.limits.pipelined;
  options.header_style = config.http.headers;
  options.retry_after_jitter_percent = static_cast<int>(config.http.retry_after_jitter_percent);
  options.limits_in_requests = config.http.limits_in_requests;
  options.request_limits = BoundsOf(config);
  options.receipts = ReceiptOptionsOf(shared);
  options.denial_id_in_body = config.denials.id_in_body;
  options.denial_id_in_header = config.denials.id_in_header;
  for (const auto& [header, attribute] : config.forward_auth.headers) {
    options.proxy_headers.push_back({.header = header, .attribute = attribute});
  }
  options.fold_paths = config.forward_auth.fold_paths;
  options.admin_hosts = config.admin.hosts;
  options.dashboard = config.admin.dashboard;
  options.plaintext_login = config.admin.plaintext_login;
  return options;
}

api::GrpcOptions GrpcOptionsOf(const Shared& shared) {
  const settings::Config& config = shared.config;
  return {.deadline = config.grpc.deadline,
          .max_message_bytes = config.grpc.max_message_bytes,
          .max_decompressed_bytes = config.grpc.max_decompressed_bytes,
          .max_header_bytes = config.limits.header_bytes,
          .max_streams = config.grpc.max_streams,
          .request_timeout = config.limits.request_timeout,
          .idle_timeout = config.limits.idle_timeout,
          .max_connection_age = config.grpc.max_connection_age,
          .max_connection_age_grace = config.grpc.max_connection_age_grace,
          .keepalive_interval = config.grpc.keepalive_interval,
          .keepalive_timeout = config.grpc.keepalive_timeout,
          .receipts = ReceiptOptionsOf(shared)};
}

api::EnvoyOptions EnvoyOptionsOf(const settings::Config& config) {
  return {.rule_domains = config.envoy.rule_domains,
          .ratelimit_headers = config.envoy.response_headers.ratelimit,
          .header_style = config.envoy.response_headers.style,
          .request_limits = BoundsOf(config),
          .negative_hits = config.negative_hits};
}

telemetry::TracerOptions TracerOptionsOf(const settings::OtlpSettings& settings) {
  return {.sampler = settings.sampler, .ratio = settings.sampler_ratio, .slow = settings.slow_call};
}

std::uint32_t LoggedAllowed(const settings::Config& config) {
  return config.decision_log.file.empty()
             ? 0
             : static_cast<std::uint32_t>(config.decision_log.allowed_every);
}

// A log of denials gets all of them, and samples as its setting says.
bool LogsDenials(const settings::Config& config) {
  return !config.decision_log.file.empty() && config.decision_log.denied_every > 0;
}

}  // namespace

Worker::Worker(net::Loop& loop, Shared& shared, std::unique_ptr<api::AdminServices> admin)
    : loop_(loop),
      shared_(shared),
      admin_(std::move(admin)),
      counters_(shared),
      insight_(shared.consumer_hasher,
               {.record_bytes = kRecordBytes,
                .allowed_every = LoggedAllowed(shared.config),
                .all_denials = LogsDenials(shared.config)},
               RandomId()),
      tracer_(shared.span_budget
                  ? std::make_unique<telemetry::LoopTracer>(TracerOptionsOf(shared.config.otlp),
                                                            *shared.span_budget, RandomId())
                  : nullptr),
      strikes_(shared.consumer_hasher),
      traffic_(shared.traffic ? shared.traffic->AddLoop() : nullptr),
      names_(shared.names ? &shared.names->AddLoop() : nullptr),
      identifier_(shared.identity),
      redis_(shared.redis ? std::make_unique<lease::RedisPath>(loop, *shared.redis, *shared.leases,
                                                               RedisOptions())
                          : nullptr),
      reader_(shared.rules),
      entries_(shared.entries),
      limiter_(redis_ ? static_cast<store::Store&>(redis_->store()) : *shared.memory,
               redis_ ? shared.memory.get() : nullptr, reader_, shared.settings),
      envoy_(shared.envoy, EnvoyOptionsOf(shared.config)),
      http_(*this, HttpOptionsOf(shared)),
      resp_(*this, shared.config.limits.pipelined, BoundsOf(shared.config),
            shared.config.negative_hits, ReceiptOptionsOf(shared)),
      grpc_(*this, GrpcOptionsOf(shared)) {
  identifier_.Get();
  reader_.Get();
  static_cast<void>(rules_mark());  // So that the first denial need not find it.
  limiter_.Observe(this);
  limiter_.Consult(entries_, counters_.entries);
  if (shared.leases) limiter_.StartLocalFrom(&shared.leases->table);
  for (std::size_t i = 0; i < own_limits_.size(); ++i) {
    own_limits_[i] = shared.LimitSeriesOf(kOwnLimits, "", static_cast<Algorithm>(i));
  }
}

// Every check is answered before what it needs is gone.
Worker::~Worker() {
  if (redis_) redis_->Close();
}

lease::RedisPathOptions Worker::RedisOptions() {
  return {.deadline = shared_.config.store.deadline,
          .on_breaker_change = [this](const redis::BreakerChange& change) { LogBreaker(change); },
          .on_heartbeat =
              [this](std::uint32_t peers, Micros clock_ahead) {
                shared_.settings.store_clock_ahead.store(clock_ahead, std::memory_order_relaxed);
                SetPeerCount(peers);
              }};
}

void Worker::SetPeerCount(std::uint32_t peers) {
  if (shared_.config.failover.servers > 0) return;  // Configured.
  shared_.leases->table.SetNodes(peers);
  const std::uint32_t before = shared_.settings.servers.exchange(peers, std::memory_order_relaxed);
  if (before == peers) return;
  shared_.log.Write(telemetry::LogLevel::kInfo, "peer count changed",
                    {{"servers", peers}, {"before", before}});
}

std::unique_ptr<transport::Session> Worker::NewHttpSession(
    transport::Transport& transport, const transport::ConnectionFacts& facts) {
  const settings::ListenerSettings& admin = shared_.config.admin.listener;
  const bool has_admin_listener = !admin.listen.empty() || !admin.tls_listen.empty();
  return std::make_unique<api::HttpSession>(
      http_, transport, PeerOf(facts),
      has_admin_listener ? api::HttpSurface::kPublic : api::HttpSurface::kAll);
}

std::unique_ptr<transport::Session> Worker::NewAdminSession(
    transport::Transport& transport, const transport::ConnectionFacts& facts) {
  return std::make_unique<api::HttpSession>(http_, transport, PeerOf(facts),
                                            api::HttpSurface::kAdmin);
}

std::unique_ptr<transport::Session> Worker::NewRespSession(
    transport::Transport& transport, const transport::ConnectionFacts& facts) {
  return std::make_unique<api::RespSession>(resp_, transport, PeerOf(facts));
}

std::unique_ptr<transport::Session> Worker::NewGrpcSession(
    transport::Transport& transport, const transport::ConnectionFacts& facts) {
  return std::make_unique<api::GrpcSession>(grpc_, transport, PeerOf(facts));
}

api::Peer Worker::PeerOf(const transport::ConnectionFacts& facts) {
  const std::optional<Address> ip =
      facts.proxied_for ? facts.proxied_for : AddressOf(facts.peer.bytes());
  std::array<char, kMaxAddressText> text;
  return {.address = ip ? std::string(FormatAddress(*ip, text)) : std::string(),
          .is_local = facts.peer.is_local() && !facts.is_proxied,
          .is_reserved = facts.is_reserved,
          .port = facts.proxied_for ? std::uint16_t{0} : facts.peer.port(),
          .ip = ip,
          .is_encrypted = facts.is_encrypted,
          .asked_for_certificate = facts.asked_for_certificate,
          .tls_subject = facts.subject.name,
          .tls_cn = facts.subject.common_name};
}

redis::Stats Worker::RedisStatsApprox() const {
  return redis_ ? redis_->RedisStatsApprox() : redis::Stats{};
}

store::RedisStoreStats Worker::StoreStatsApprox() const {
  return redis_ ? redis_->StoreStatsApprox() : store::RedisStoreStats{};
}

// A key that was fresh before a call that consumes from it may be new to the directory: so every
// live key is there, until it has dropped some.
void Worker::RecordNames(const CheckRequest& check) {
  const bool consumes = check.allowed || check.operation != store::Operation::kCheck;
  for (const store::KeyUse& use : check.uses()) {
    const bool denied = use.verdict.outcome != Outcome::kAllowed;
    const bool was_fresh =
        (consumes || use.count_denied) && use.verdict.remaining >= use.verdict.limit - use.cost;
    if (IsNameDue(denied) || (was_fresh && names_->Lacks(use.key))) {
      names_->Record(use.key, now_, denied);
    }
  }
}

bool Worker::IsNameDue(bool denied) {
  if (now_ >= next_names_ || now_ < next_names_ - std::chrono::seconds(1)) {
    next_names_ = now_ + std::chrono::seconds(1);
    all_names_left_ = kAllNames;
  }
  if (all_names_left_ > 0) {
    --all_names_left_;
    return true;
  }
  std::uint32_t& until = denied ? until_denied_name_ : until_name_;
  if (--until > 0) return false;
  until = denied ? kDeniedNameEvery : kNameEvery;
  return true;
}

void Worker::CountAnswer(api::Protocol protocol, const CheckRequest& check) {
  if (names_ != nullptr && check.ruling == Ruling::kDecided &&
      (check.operation == store::Operation::kCheck ||
       check.operation == store::Operation::kGrant)) {
    RecordNames(check);
  }
  if (check.operation != store::Operation::kCheck) return;
  limiter::DecisionCounters& decisions = counters_.decisions;
  counters_.calls.calls[protocol][api::OutcomeOf(check)].Add();
  if (traffic_ != nullptr) traffic_->Record(check.matched_attributes(), check.cost, now());
  api::RecordCall(insight_, protocol, check, now(), reader_.version());
  if (tracer_ != nullptr) RecordSpan(protocol, check);
  strikes_.Count(check, now_);
  if (check.full != limiter::FullOutcome::kNone) {
    decisions.full[check.full].Add();
    if (check.ruling == Ruling::kDecided) CountStorageError(check.error);
  }
  for (const rules::Rule* const rule : check.lacking()) CountMissing(*rule);
  switch (check.ruling) {
    case Ruling::kDecided:
      CountLimits(check);
      break;
    case Ruling::kAllowListed:
      decisions.list_hits[limiter::List::kAllow].Add();
      break;
    case Ruling::kDenyListed:
      decisions.list_hits[limiter::List::kDeny].Add();
      break;
    case Ruling::kDegraded:
      if (check.error != ErrorCode::kStoreFull) {
        decisions.degraded[api::FailureModeOf(check)].Add();
      }
      CountStorageError(check.error);
      break;
    default:
      break;
  }
}

api::RulesMark Worker::rules_mark() {
  if (rules_mark_.number != reader_.version()) {
    const LiveVersion<match::RuleSet> active = shared_.rules.Active();
    rules_mark_ = {.number = reader_.version(),
                   .fingerprint = api::ShortFingerprint(active.fingerprint)};
  }
  return rules_mark_;
}

void Worker::CountStorageError(ErrorCode error) {
  counters_.decisions.storage_errors[limiter::StoreErrorOf(error)].Add();
}

// While a server is gone its breaker probes it again and again: only the debug log has those lines.
void Worker::LogBreaker(const redis::BreakerChange& change) {
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

void Worker::CountLimits(const CheckRequest& check) {
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    const store::KeyUse& use = check.uses()[i];
    const rules::NamedLimit* const limit = check.matched(i).limit;
    limiter::LimitCounters& counters =
        counters_.limits[limit != nullptr
                             ? telemetry::Series{limit->number}
                             : own_limits_[static_cast<std::size_t>(use.limit->algorithm())]];
    const bool fits = use.verdict.outcome == Outcome::kAllowed;
    const bool is_shadow = use.mode == Mode::kShadow;
    (fits || is_shadow ? counters.allowed : counters.denied).Add();
    if (is_shadow && !fits) counters.shadow_denied.Add();
  }
}

// A rule that says what becomes of such calls needs no warning.
void Worker::CountMissing(const rules::Rule& rule) {
  counters_.rules[{rule.number}].missing_attributes.Add();
  if (rule.on_missing || !shared_.missing_attributes.IsDue(loop_.Now())) return;
  shared_.log.Write(shared_.missing_attributes, loop_.Now(), telemetry::LogLevel::kWarn,
                    "a rule did not limit a call that lacks an attribute of `per`; `on_missing` "
                    "says what becomes of such calls",
                    {{"rule", rule.id}});
}

void Worker::NotePeerAsIdentity() {
  // Relaxed: it guards nothing but the line.
  if (shared_.warned_of_peers.load(std::memory_order_relaxed) ||
      shared_.warned_of_peers.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  shared_.log.Write(telemetry::LogLevel::kWarn,
                    "a check without `ip` and `api_key` is counted under the address of its peer, "
                    "together with all others from there; `identity.required` refuses such checks");
}

// A call that no sampler chose has the times of the turns in which it began and ended.
void Worker::RecordSpan(api::Protocol protocol, const CheckRequest& check) {
  using std::chrono::nanoseconds;
  if (check.ruling == Ruling::kInvalid) return;
  const nanoseconds begin = check.asked_at().time_since_epoch();
  const nanoseconds took =
      std::max({check.took(), nanoseconds(now() - check.asked_at()), nanoseconds{0}});
  const bool is_slow = tracer_->IsSlow(took);
  const bool has_priority = is_slow || check.degraded;
  if (!has_priority && !check.trace.is_sampled) return;
  const nanoseconds end = begin + took;
  if (!tracer_->HasRoom(std::chrono::floor<std::chrono::seconds>(end), has_priority)) return;
  telemetry::SpanRecord record{.context = check.trace,
                               .begin = begin,
                               .end = end,
                               .cost = check.cost,
                               .limits = static_cast<std::uint32_t>(check.uses().size()),
                               .allowed = check.allowed,
                               .degraded = check.degraded,
                               .is_slow = is_slow,
                               .protocol = LabelOf(protocol),
                               .outcome = LabelOf(api::OutcomeOf(check))};
  record.store_begin = check.store_took() > nanoseconds{0} ? end - check.store_took() : begin;
  if (!check.uses().empty()) {
    const match::MatchedLimit& matched = check.matched(check.decision.index);
    record.rule = telemetry::SpanText(matched.rule != nullptr ? std::string_view(matched.rule->id)
                                                              : kOwnLimits);
    if (matched.limit != nullptr) record.limit = telemetry::SpanText(matched.limit->name);
    record.cap = check.decision.tightest.limit;
    record.remaining = check.decision.tightest.remaining;
  }
  tracer_->Record(record, /*has_store_span=*/check.waited());
}

bool Worker::SamplesThis(CheckRequest& check) {
  const bool is_counted = --until_sample_ == 0;
  if (is_counted) until_sample_ = kSampleEvery;
  if (tracer_ == nullptr || check.operation != store::Operation::kCheck) return is_counted;
  tracer_->Begin(check.trace);
  // Beyond the budget, a call that is neither slow nor degraded need not be measured.
  if (check.trace.is_sampled &&
      !tracer_->HasRoom(std::chrono::floor<std::chrono::seconds>(now_.time_since_epoch()),
                        /*has_priority=*/false)) {
    check.trace.is_sampled = false;
  }
  return is_counted || check.trace.is_sampled;
}

void Worker::Took(const CheckRequest& check, const limiter::TimesTaken& times) {
  if (check.uses().empty()) return;
  const store::KeyUse& use = check.uses()[check.decision.index];
  const auto allowed = check.allowed ? limiter::Allowed::kYes : limiter::Allowed::kNo;
  counters_.decisions.check_times[use.limit->algorithm()][allowed].Record(times.whole);
  counters_.decisions.storage_times.Record(times.store);
}

void Worker::CountTokenFailure(api::Protocol protocol, const api::Peer& peer,
                               identity::TokenVerdict verdict) {
  counters_.calls.token_failures[protocol].Add();
  shared_.log.Write(shared_.token_failure_log, SteadyClock::Now(), telemetry::LogLevel::kWarn,
                    "wrong token",
                    {{"protocol", LabelOf(protocol)},
                     {"peer", peer.address.empty() ? std::string_view("unix") : peer.address},
                     {"limited", verdict == identity::TokenVerdict::kLimited}});
}

std::string_view Worker::version() const { return kVersion; }

}  // namespace sluice::server

#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/envoy_desk.h"
#include "api/grpc_loop.h"
#include "api/host.h"
#include "api/http_loop.h"
#include "api/resp_loop.h"
#include "api/session.h"
#include "base/clock.h"
#include "limiter/limiter.h"
#include "net/loop.h"
#include "redis/service.h"
#include "rules/live_rules.h"
#include "server/connection_facts.h"
#include "server/heartbeat.h"
#include "server/shared.h"
#include "store/redis/redis_store.h"
#include "store/store.h"
#include "telemetry/loop_counters.h"
#include "wire/http_date.h"

namespace sluice::server {

/// What a worker can't do alone: it concerns all loops.
class Operations {
 public:
  virtual rules::LoadReport ReloadRules() = 0;
  /// On the main thread; `done` runs on the asker's loop.
  virtual void MakeMetrics(net::Loop& asker, api::MetricsFormat format,
                           std::function<void(std::string page)> done) = 0;
  [[nodiscard]] virtual api::Health CheckHealth() = 0;
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::uint64_t>> StoreNumbers() = 0;

 protected:
  ~Operations() = default;
};

/// One loop's part of the server: its way to the store, its counters, its sessions. Made, used and
/// destroyed on its loop's thread; only `counters` and the Approx functions are for others.
class Worker final : public api::Host, private limiter::Observer {
 public:
  Worker(net::Loop& loop, Shared& shared, Operations& operations);
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  std::unique_ptr<api::Session> NewHttpSession(api::SessionHost& carrier,
                                               const ConnectionFacts& facts);
  std::unique_ptr<api::Session> NewRespSession(api::SessionHost& carrier,
                                               const ConnectionFacts& facts);
  std::unique_ptr<api::Session> NewGrpcSession(api::SessionHost& carrier,
                                               const ConnectionFacts& facts);

  /// From now on, on the loop's thread.
  void UseIdentifier(std::shared_ptr<const identity::Identifier> identifier) {
    identifier_ = std::move(identifier);
  }

  /// From now on, tells the other servers at this Redis of this one, and counts them. With Redis,
  /// on the loop's thread.
  void StartHeartbeat();

  [[nodiscard]] const telemetry::LoopCounters& counters() const { return counters_; }
  /// Of Redis; zeros without.
  [[nodiscard]] redis::Stats RedisStatsApprox() const;
  [[nodiscard]] store::RedisStoreStats StoreStatsApprox() const;

  // ---- api::Host

  limiter::Limiter& limiter() override { return limiter_; }
  /// Read once in a turn.
  WallTime now() override {
    if (const SteadyTime turn = loop_.Now(); turn != turn_) {
      turn_ = turn;
      now_ = TheSystemClock().Now();
    }
    return now_;
  }
  std::string_view http_date() override { return date_.At(now()); }
  void CountAnswer(api::Protocol protocol, const limiter::Question& question) override;
  void CountProtocolError(api::Protocol protocol) override;
  void CountAbuse(wire::Http2Abuse abuse) override;
  const identity::Identifier& identifier() override { return *identifier_; }
  api::EnvoyDesk* envoy() override { return &envoy_; }
  [[nodiscard]] bool has_admin_token() const override { return !shared_.admin_token.empty(); }
  [[nodiscard]] bool IsAdminToken(std::string_view token) const override;
  [[nodiscard]] std::string_view version() const override;
  [[nodiscard]] Micros idle_timeout() const override { return shared_.config.idle_timeout; }
  api::Health CheckHealth() override { return operations_.CheckHealth(); }
  void MakeMetrics(api::MetricsFormat format, std::function<void(std::string page)> done) override {
    operations_.MakeMetrics(loop_, format, std::move(done));
  }
  rules::LiveRules& rules() override { return shared_.rules; }
  rules::LoadReport ReloadRules() override { return operations_.ReloadRules(); }
  [[nodiscard]] limiter::Enforcement enforcement() const override;
  void SetEnforcement(limiter::Enforcement enforcement) override;
  bool SetLogLevel(std::string_view level) override;
  [[nodiscard]] std::string_view log_level() const override;
  std::vector<std::pair<std::string, std::uint64_t>> StoreNumbers() override {
    return operations_.StoreNumbers();
  }

 private:
  /// The name under which limits are counted that requests bring themselves.
  static constexpr std::string_view kOwnLimits = "_request";

  static api::Peer PeerOf(const ConnectionFacts& facts);
  void TellOfBreaker(const redis::BreakerChange& change);
  void CountLimits(const limiter::Question& question);
  bool SamplesThis() override;
  void Took(const limiter::Question& question, const limiter::TimesTaken& times) override;

  net::Loop& loop_;
  Shared& shared_;
  Operations& operations_;
  telemetry::LoopCounters counters_;
  std::shared_ptr<const identity::Identifier> identifier_;
  std::array<telemetry::RuleSeries, 6> own_limits_{};  ///< By algorithm.
  std::unique_ptr<redis::Service> redis_;
  std::unique_ptr<store::RedisStore> redis_store_;
  std::unique_ptr<Heartbeat> heartbeat_;
  rules::RulesReader reader_;
  limiter::Limiter limiter_;
  wire::HttpDate date_;
  SteadyTime turn_{};  ///< In which `now_` was read.
  WallTime now_{};
  api::EnvoyDesk envoy_;
  api::HttpLoop http_;
  api::RespLoop resp_;
  api::GrpcLoop grpc_;
};

}  // namespace sluice::server

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/admin/admin_services.h"
#include "api/envoy/state.h"
#include "api/grpc/loop.h"
#include "api/http/loop.h"
#include "api/resp/loop.h"
#include "api/server_services.h"
#include "base/clock.h"
#include "base/live.h"
#include "lease/redis/redis_path.h"
#include "limiter/decision_counters.h"
#include "limiter/limiter.h"
#include "net/loop.h"
#include "server/key_resets.h"
#include "server/shared.h"
#include "simulate/traffic_sampler.h"
#include "store/key_directory.h"
#include "store/store.h"
#include "telemetry/loop_insight.h"
#include "transport/connection_facts.h"
#include "transport/session.h"
#include "wire/http_date.h"

namespace sluice::server {

/// The counters of one loop. Aligned so that two loops never share a cache line.
struct alignas(128) LoopCounters {
  explicit LoopCounters(const Shared& shared)
      : limits(shared.limit_series), rules(shared.rule_series) {}

  api::CallCounters calls;
  limiter::DecisionCounters decisions;
  limiter::EntryCounters entries;
  telemetry::SeriesCounters<limiter::LimitCounters> limits;
  telemetry::SeriesCounters<limiter::RuleCounters> rules;
};

/// One loop's part of the server: its way to the store, its counters, its sessions. Made, used and
/// destroyed on its loop's thread; only `loop_counters` and the Approx functions are for others.
class Worker final : public api::ServerServices, private limiter::Observer {
 public:
  /// Of decisions that are recorded until another thread takes them.
  static constexpr std::size_t kRecordBytes = std::size_t{512} << 10;

  Worker(net::Loop& loop, Shared& shared, std::unique_ptr<api::AdminServices> admin);
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  std::unique_ptr<transport::Session> NewHttpSession(transport::Transport& transport,
                                                     const transport::ConnectionFacts& facts);
  /// A session of the listener for administrators.
  std::unique_ptr<transport::Session> NewAdminSession(transport::Transport& transport,
                                                      const transport::ConnectionFacts& facts);
  std::unique_ptr<transport::Session> NewRespSession(transport::Transport& transport,
                                                     const transport::ConnectionFacts& facts);
  std::unique_ptr<transport::Session> NewGrpcSession(transport::Transport& transport,
                                                     const transport::ConnectionFacts& facts);

  [[nodiscard]] const LoopCounters& loop_counters() const { return counters_; }
  /// Other threads exchange what it holds for empty buffers, on this loop: see its header.
  [[nodiscard]] telemetry::LoopInsight& insight() { return insight_; }
  /// Of Redis; zeros without.
  [[nodiscard]] redis::Stats RedisStatsApprox() const;
  [[nodiscard]] store::RedisStoreStats StoreStatsApprox() const;

  /// Returns all leased tokens of the process, which is shutting down. On the loop's thread.
  void EndLeasing() {
    if (redis_) redis_->store().EndLeasing();
  }
  [[nodiscard]] bool returns_leases() const {
    return redis_ && redis_->store().returns_under_way();
  }
  /// Resets keys for an administrator. On the loop's thread.
  void ResetKeys(KeyResets& resets) { resets.Run(limiter_, now()); }

  // ---- api::ServerServices

  limiter::Limiter& limiter() override { return limiter_; }
  WallTime now() override {
    BeginTurn();
    return now_;
  }
  std::string_view http_date() override { return date_.At(now()); }
  [[nodiscard]] api::RulesMark rules_mark() override;
  void CountAnswer(api::Protocol protocol, const limiter::CheckRequest& check) override;
  api::CallCounters& counters() override { return counters_.calls; }
  void CountMissing(const rules::Rule& rule) override;
  void NotePeerAsIdentity() override;
  [[nodiscard]] bool requires_identity() const override { return shared_.config.identity_required; }
  const identity::Identifier& identifier() override {
    BeginTurn();
    return *identifier_.current();
  }
  std::shared_ptr<const identity::Identifier> shared_identifier() override {
    BeginTurn();
    return identifier_.current().Share();
  }
  store::StoreQueue* store_queue() override { return redis_ ? redis_->queue() : nullptr; }
  api::EnvoyState* envoy() override { return &envoy_; }
  void CountTokenFailure(api::Protocol protocol, const api::Peer& peer,
                         identity::TokenVerdict verdict) override;
  [[nodiscard]] std::string_view version() const override;
  [[nodiscard]] Micros idle_timeout() const override { return shared_.config.limits.idle_timeout; }
  api::AdminServices& admin() override { return *admin_; }

 private:
  /// The name under which limits are counted that requests bring themselves.
  static constexpr std::string_view kOwnLimits = "_request";
  /// One call in so many is timed: a clock read costs as much as a check. A prime, so that it does
  /// not fall into step with clients that send batches of equal length.
  static constexpr std::uint32_t kSampleEvery = 61;
  /// Uses of a second that are all recorded in the directory of names. Of later ones, those of new
  /// keys and one in so many.
  static constexpr std::uint32_t kAllNames = 2048;
  static constexpr std::uint32_t kNameEvery = 17;
  static constexpr std::uint32_t kDeniedNameEvery = 5;

  /// Reads the clock and the active identity once in a turn: both stay the same within it.
  void BeginTurn() {
    if (const SteadyTime turn = loop_.Now(); turn != turn_) {
      turn_ = turn;
      now_ = TheSystemClock().Now();
      identifier_.Get();
    }
  }
  static api::Peer PeerOf(const transport::ConnectionFacts& facts);
  [[nodiscard]] lease::RedisPathOptions RedisOptions();
  void LogBreaker(const redis::BreakerChange& change);
  void SetPeerCount(std::uint32_t peers);
  void RecordNames(const limiter::CheckRequest& check);
  [[nodiscard]] bool IsNameDue(bool denied);
  void CountLimits(const limiter::CheckRequest& check);
  void CountStorageError(ErrorCode error);
  bool SamplesThis() override;
  void Took(const limiter::CheckRequest& check, const limiter::TimesTaken& times) override;

  net::Loop& loop_;
  Shared& shared_;
  const std::unique_ptr<api::AdminServices> admin_;
  LoopCounters counters_;
  std::uint32_t until_sample_ = kSampleEvery;
  telemetry::LoopInsight insight_;
  api::RulesMark rules_mark_;
  simulate::LoopTrafficSampler* const traffic_;  ///< Null: calls are not sampled.
  store::KeyDirectory* const names_;             ///< Null: names are not kept.
  WallTime next_names_{};                        ///< Begin of the next second.
  std::uint32_t all_names_left_ = 0;
  std::uint32_t until_name_ = kNameEvery;
  std::uint32_t until_denied_name_ = kDeniedNameEvery;
  LiveReader<identity::Identifier> identifier_;
  std::array<telemetry::Series, kLabels<Algorithm>.size()> own_limits_{};  ///< By algorithm.
  std::unique_ptr<lease::RedisPath> redis_;  ///< Null: limits live in memory.
  LiveReader<match::RuleSet> reader_;
  LiveReader<match::EntrySet> entries_;
  limiter::Limiter limiter_;
  wire::HttpDate date_;
  SteadyTime turn_{};  ///< The last that BeginTurn saw.
  WallTime now_{};
  api::EnvoyState envoy_;
  api::HttpLoop http_;
  api::RespLoop resp_;
  api::GrpcLoop grpc_;
};

}  // namespace sluice::server

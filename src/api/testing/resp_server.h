#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/host.h"
#include "api/resp_loop.h"
#include "api/resp_session.h"
#include "limiter/limiter.h"
#include "rules/live_rules.h"
#include "store/testing/model_store.h"

namespace sluice::api::testing {

/// A store that may be told to answer later, or not to know.
class FickleStore final : public store::Store {
 public:
  store::Answered Submit(store::Call& call) override {
    ++asked_;
    if (answers_later) {
      call.pending = true;
      waiting_.push_back(&call);
      return store::Answered::kLater;
    }
    return AnswerNow(call);
  }
  void SubmitBatch(std::span<store::Call* const> calls) override {
    for (store::Call* call : calls) Submit(*call);
  }
  /// Answers so many that wait, the first or the last first.
  void Answer(std::size_t count, bool last_first = false) {
    for (; count > 0 && !waiting_.empty(); --count) {
      store::Call& call = last_first ? *waiting_.back() : *waiting_.front();
      last_first ? waiting_.pop_back() : waiting_.pop_front();
      AnswerNow(call);
      call.on_done(call, call.context);
    }
  }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  /// How often it was asked anything.
  [[nodiscard]] std::size_t asked() const { return asked_; }

  bool answers_later = false;
  std::optional<ErrorCode> failure;

 private:
  store::Answered AnswerNow(store::Call& call) {
    if (!failure) return model_.Submit(call);
    call.pending = false;
    call.ok = false;
    call.error = *failure;
    return store::Answered::kNow;
  }

  store::testing::ModelStore model_;
  std::deque<store::Call*> waiting_;
  std::size_t asked_ = 0;
};

/// A server with nothing around it but a store and rules.
class FakeHost final : public Host {
 public:
  explicit FakeHost(store::Store& store) : limiter_(store, nullptr, reader_, settings_) {}

  [[nodiscard]] limiter::Limiter& limiter() override { return limiter_; }
  [[nodiscard]] WallTime now() override { return time; }
  [[nodiscard]] std::string_view http_date() override { return {}; }
  void CountAnswer(Protocol /*protocol*/, const limiter::Question& /*question*/) override {
    ++answers;
  }
  void CountProtocolError(Protocol /*protocol*/) override { ++protocol_errors; }
  void CountAbuse(wire::Http2Abuse abuse) override { abuses.push_back(abuse); }
  const identity::Identifier& identifier() override { return identifier_; }
  [[nodiscard]] bool has_admin_token() const override { return !token.empty(); }
  [[nodiscard]] bool IsAdminToken(std::string_view shown) const override { return shown == token; }
  [[nodiscard]] std::string_view version() const override { return "1.2.3"; }
  [[nodiscard]] Micros idle_timeout() const override { return std::chrono::milliseconds(299'500); }
  [[nodiscard]] Health CheckHealth() override {
    return {.live = true, .ready = ready, .conditions = {}};
  }
  void MakeMetrics(MetricsFormat /*format*/,
                   std::function<void(std::string page)> /*done*/) override {}
  [[nodiscard]] rules::LiveRules& rules() override { return live_; }
  rules::LoadReport ReloadRules() override { return {}; }
  [[nodiscard]] limiter::Enforcement enforcement() const override { return settings_.enforcement; }
  void SetEnforcement(limiter::Enforcement enforcement) override {
    settings_.enforcement = enforcement;
  }
  bool SetLogLevel(std::string_view /*level*/) override { return false; }
  [[nodiscard]] std::string_view log_level() const override { return "info"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> StoreNumbers() override {
    return {{"keys", 42}};
  }

  WallTime time{std::chrono::seconds(1'900'000'000)};
  std::string token;
  std::size_t answers = 0;
  std::size_t protocol_errors = 0;
  std::vector<wire::Http2Abuse> abuses;
  bool ready = true;

 private:
  rules::LiveRules live_;
  rules::RulesReader reader_{live_};
  limiter::Settings settings_;
  limiter::Limiter limiter_;
  identity::Identifier identifier_ = *identity::Identifier::Make({});
};

/// Counts how often it is told that there is something to write.
class FakeCarrier final : public SessionHost {
 public:
  void OutputReady() override { ++told; }
  std::size_t told = 0;
};

}  // namespace sluice::api::testing

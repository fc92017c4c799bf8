#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/admin/admin_services.h"
#include "api/admin/rule_tasks.h"
#include "api/envoy/state.h"
#include "api/server_services.h"
#include "base/fake_clock.h"
#include "control/entry_service.h"
#include "control/testing/fake_control_store.h"
#include "control/testing/fake_record_service.h"
#include "envoy/load_config.h"
#include "limiter/limiter.h"
#include "match/load_rules.h"
#include "transport/session.h"
#include "wire/http_date.h"

namespace sluice::api::testing {

/// A server that consists of a store, rules and a clock that stands still.
class FakeServices final : public ServerServices, public AdminServices, private RuleTasks {
 public:
  explicit FakeServices(store::Store& store) : limiter_(store, nullptr, reader_, settings_) {}

  // ---- ServerServices

  limiter::Limiter& limiter() override { return limiter_; }
  WallTime now() override { return clock.Now(); }
  std::string_view http_date() override { return date_.At(now()); }
  const identity::Identifier& identifier() override { return *identifier_; }
  std::shared_ptr<const identity::Identifier> shared_identifier() override {
    return {std::shared_ptr<void>(), &*identifier_};  // Not owned.
  }
  store::StoreQueue* store_queue() override { return queue; }
  EnvoyState* envoy() override { return envoy_state ? &*envoy_state : nullptr; }
  [[nodiscard]] std::string_view version() const override { return "1.2.3"; }
  [[nodiscard]] Micros idle_timeout() const override { return std::chrono::milliseconds(299'500); }
  void CountAnswer(Protocol /*protocol*/, const limiter::CheckRequest& /*check*/) override {
    ++answers;
  }
  CallCounters& counters() override { return call_counters; }
  void CountTokenFailure(Protocol /*protocol*/, const Peer& /*peer*/,
                         identity::TokenVerdict /*verdict*/) override {
    ++token_failures;
  }
  AdminServices& admin() override { return *this; }

  // ---- AdminServices

  identity::Authenticator& authenticator() override { return authenticator_; }
  Health CheckHealth() override { return health; }
  Live<match::RuleSet>& rules() override { return live; }
  [[nodiscard]] limiter::Enforcement enforcement() const override { return settings_.enforcement; }
  void SetEnforcement(limiter::Enforcement enforcement) override {
    settings_.enforcement = enforcement;
  }
  bool SetLogLevel(std::string_view name) override {
    if (name != "info" && name != "debug") return false;
    level = name;
    return true;
  }
  [[nodiscard]] std::string_view log_level() const override { return level; }
  std::vector<std::pair<std::string, std::uint64_t>> StoreNumbers() override {
    return {{"keys", 42}};
  }
  void MakeMetrics(MetricsFormat /*format*/, MetricsDone done) override {
    slow_work.push_back([done = std::move(done)] {
      done(std::make_shared<const std::string>("rate_limiter_active_keys 7\n"));
    });
  }
  void ReloadRules(RulesDone done) override {
    slow_work.push_back([this, done = std::move(done)] {
      done(std::make_shared<const LoadReport>(LoadRules(live, "rules.yaml", next_rules, now())));
    });
  }
  void RollBackRules(std::uint64_t version, control::Origin /*origin*/, RulesDone done) override {
    slow_work.push_back([this, version, done = std::move(done)] {
      LoadReport report;
      if (const auto active = live.Rollback(version, now())) {
        report.outcome = LoadOutcome::kActivated;
        report.version = *active;
      }
      done(std::make_shared<const LoadReport>(std::move(report)));
    });
  }

  InsightServices* insight() override { return insight_services; }
  RuleTasks* rule_tasks() override { return rule_service == nullptr ? nullptr : this; }
  [[nodiscard]] bool has_stored_rules() const override { return rule_service != nullptr; }
  void Audit(control::Origin origin, std::string action, std::string target) override {
    audits.push_back(origin.author + " " + action + " " + target);
  }

  std::optional<store::SeenTimes> FindSeen(const Key& key) override { return names.Find(key); }
  void RunKeyTask(KeyTask task, std::function<void(bool ran)> done) override {
    slow_work.push_back([this, task = std::move(task), done = std::move(done)] {
      if (key_services != nullptr) task(*key_services);
      done(key_services != nullptr);
    });
  }
  void LogChange(const control::Origin& origin, std::string_view request,
                 std::string_view target) override {
    changes.push_back(origin.author + " " + std::string(request) + " " + std::string(target));
  }

  // ---- For tests

  void Identify(identity::IdentityOptions options) {
    identifier_ = *identity::Identifier::Make(std::move(options));
  }
  /// Creates a token, and returns what its owner sends.
  std::string AddToken(identity::AccessToken with) {
    if (with.name.empty()) with.name = "test";
    const std::string text = identity::GenerateSecret(with);
    tokens.push_back(std::move(with));
    LoadTokens();
    return text;
  }
  /// Puts `tokens` into force.
  void LoadTokens() {
    access.tokens.Load("test", "", now(), [this]() -> LiveCandidate<identity::TokenSet> {
      return {.value = std::make_shared<const identity::TokenSet>(tokens, access.token_uses)};
    });
  }
  /// Runs the slow operations that a real server runs on another thread, until none waits.
  void FinishSlowWork() {
    while (!slow_work.empty()) {
      for (const auto& work : std::exchange(slow_work, {})) work();
    }
  }

  FakeClock clock{WallTime{std::chrono::seconds(1'900'000'000)}};
  Live<match::RuleSet> live{10};
  Live<envoy::Config> envoy_config;
  std::optional<EnvoyState> envoy_state;  ///< Not set: Envoy's service is off.
  std::string next_rules;
  identity::AccessSources access;
  std::vector<identity::AccessToken> tokens;  ///< See AddToken.
  std::string& token = access.bootstrap_token;
  SteadyTime steady_now{std::chrono::hours(1)};  ///< For the bound on wrong tokens.
  std::size_t token_failures = 0;
  InsightServices* insight_services = nullptr;  ///< Not owned.
  std::string level = "info";
  Health health;
  std::vector<std::function<void()>> slow_work;
  std::size_t answers = 0;
  CallCounters call_counters;
  store::StoreQueue* queue = nullptr;            ///< Null: the store completes calls immediately.
  control::RuleService* rule_service = nullptr;  ///< Null: the rules come from a file.
  control::testing::FakeRecordService records{clock};
  control::testing::FakeControlStore control_store{clock};  ///< For reports of nodes.
  Live<match::EntrySet> live_entries;
  control::EntryService entries{live_entries, {.now = [this] { return clock.Now(); }}};
  std::optional<TaskKind> busy_tasks;  ///< Too many tasks of this kind wait.
  std::vector<std::string> changes;    ///< "author request target", as logged.
  std::vector<std::string> audits;     ///< "author action target"
  store::KeyDirectory names{std::size_t{1} << 16};
  KeyServices* key_services = nullptr;  ///< Null: too many tasks wait.

 private:
  void Run(TaskKind kind, std::function<void(ControlServices&)> task,
           std::function<void(bool ran)> done) override {
    const bool runs = busy_tasks != kind;
    slow_work.push_back([this, runs, task = std::move(task), done = std::move(done)] {
      ControlServices services{.rules = *rule_service,
                               .records = records,
                               .store = control_store,
                               .entries = entries,
                               .traffic = nullptr};
      if (runs) task(services);
      done(runs);
    });
  }

  identity::Authenticator authenticator_{access, [this] { return steady_now; }};
  LiveReader<match::RuleSet> reader_{live};
  limiter::Settings settings_;
  limiter::Limiter limiter_;
  wire::HttpDate date_;
  std::optional<identity::Identifier> identifier_ = *identity::Identifier::Make({});
};

/// Counts the calls of OutputReady.
class FakeTransport final : public transport::Transport {
 public:
  void OutputReady() override { ++notified; }
  std::size_t notified = 0;
};

}  // namespace sluice::api::testing

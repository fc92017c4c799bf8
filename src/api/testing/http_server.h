#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/envoy_desk.h"
#include "api/host.h"
#include "api/http_loop.h"
#include "api/http_session.h"
#include "base/fake_clock.h"
#include "limiter/limiter.h"
#include "rules/live_rules.h"
#include "store/testing/model_store.h"
#include "wire/http_date.h"

namespace sluice::api::testing {

/// A store that may be told to answer later, or not to know.
class WaywardStore final : public store::Store {
 public:
  store::Answered Submit(store::Call& call) override {
    if (!answers_later) return AnswerNow(call);
    call.pending = true;
    waiting_.push_back(&call);
    return store::Answered::kLater;
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

  bool answers_later = false;
  std::optional<ErrorCode> failure;

 private:
  store::Answered AnswerNow(store::Call& call) {
    call.pending = false;
    if (!failure) return model_.Submit(call);
    call.ok = false;
    call.error = *failure;
    return store::Answered::kNow;
  }

  store::testing::ModelStore model_;
  std::deque<store::Call*> waiting_;
};

/// A server with nothing around it but a store, rules and a clock that stands still.
class HttpHost final : public Host {
 public:
  explicit HttpHost(store::Store& store) : limiter_(store, nullptr, reader_, settings_) {}

  limiter::Limiter& limiter() override { return limiter_; }
  WallTime now() override { return clock.Now(); }
  std::string_view http_date() override { return date_.At(now()); }
  void CountAnswer(Protocol /*protocol*/, const limiter::Question& /*question*/) override {
    ++answers;
  }
  void CountProtocolError(Protocol /*protocol*/) override { ++protocol_errors; }
  const identity::Identifier& identifier() override { return *identifier_; }
  void Identify(identity::IdentityOptions options) {
    identifier_ = *identity::Identifier::Make(std::move(options));
  }
  EnvoyDesk* envoy() override { return envoy_desk ? &*envoy_desk : nullptr; }
  [[nodiscard]] bool has_admin_token() const override { return !token.empty(); }
  [[nodiscard]] bool IsAdminToken(std::string_view shown) const override { return shown == token; }
  [[nodiscard]] std::string_view version() const override { return "1.2.3"; }
  [[nodiscard]] Micros idle_timeout() const override { return std::chrono::milliseconds(299'500); }
  Health CheckHealth() override { return health; }
  void MakeMetrics(MetricsFormat /*format*/, std::function<void(std::string page)> done) override {
    waits_for_metrics.push_back(std::move(done));
  }
  void FinishMetrics() {
    for (const auto& done : std::exchange(waits_for_metrics, {})) {
      done("rate_limiter_active_keys 7\n");
    }
  }
  rules::LiveRules& rules() override { return live; }
  rules::LoadReport ReloadRules() override { return live.Load("rules.yaml", next_rules, now()); }
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
  std::vector<std::pair<std::string, std::uint64_t>> StoreNumbers() override { return {}; }

  FakeClock clock{WallTime{std::chrono::seconds(1'900'000'000)}};
  rules::LiveRules live;
  envoy::LiveConfig envoy_config;
  std::optional<EnvoyDesk> envoy_desk;  ///< Not set: there is no such service.
  std::string next_rules;
  std::string token;
  std::string level = "info";
  Health health;
  std::vector<std::function<void(std::string page)>> waits_for_metrics;
  std::size_t answers = 0;
  std::size_t protocol_errors = 0;

 private:
  rules::RulesReader reader_{live};
  limiter::Settings settings_;
  limiter::Limiter limiter_;
  wire::HttpDate date_;
  std::optional<identity::Identifier> identifier_ = *identity::Identifier::Make({});
};

class CountingCarrier final : public SessionHost {
 public:
  void OutputReady() override { ++told; }
  std::size_t told = 0;
};

/// A response, taken apart.
struct Heard {
  int status = 0;
  std::string head;  ///< With its line ends.
  std::string body;

  /// Empty: there is none.
  [[nodiscard]] std::string Header(std::string_view name) const {
    const std::string line = "\r\n" + std::string(name) + ":";
    const std::size_t at = head.find(line);
    if (at == std::string::npos) return {};
    const std::size_t begin = head.find_first_not_of(' ', at + line.size());
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class HttpTest : public ::testing::Test {
 protected:
  void Start() {
    session_.reset();
    loop_ = std::make_unique<HttpLoop>(host_, options_);
    Connect();
  }
  void Connect() { session_ = std::make_unique<HttpSession>(*loop_, carrier_, peer_); }

  void Load(std::string_view yaml) {
    const rules::LoadReport report = host_.live.Load("rules.yaml", yaml, host_.now());
    std::string mistakes;
    for (const rules::Mistake& mistake : report.mistakes) mistakes += Describe(mistake) + "\n";
    ASSERT_EQ(report.outcome, rules::LoadOutcome::kActivated) << mistakes;
  }

  std::string Taken() { return std::exchange(session_->output(), {}); }
  std::string Send(std::string_view bytes) {
    if (loop_ == nullptr) Start();
    session_->Receive(bytes);
    host_.FinishMetrics();
    return Taken();
  }

  static Heard Parse(std::string_view bytes, bool has_body = true) {
    Heard heard;
    const std::size_t end = bytes.find("\r\n\r\n");
    EXPECT_NE(end, std::string_view::npos) << bytes;
    if (end == std::string_view::npos) return heard;
    heard.head = bytes.substr(0, end + 2);
    heard.body = bytes.substr(end + 4);
    heard.status = std::stoi(heard.head.substr(9, 3));
    if (has_body && heard.status != 204) {
      EXPECT_EQ(heard.Header("Content-Length"), std::to_string(heard.body.size())) << bytes;
    }
    return heard;
  }

  Heard Request(std::string_view method, std::string_view target, std::string_view body = "",
                std::string_view headers = "") {
    std::string bytes;
    bytes.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: h\r\n");
    bytes.append(headers);
    if (!body.empty()) {
      bytes.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
    }
    bytes.append("\r\n").append(body);
    return Parse(Send(bytes), method != "HEAD");
  }
  Heard Get(std::string_view target, std::string_view headers = "") {
    return Request("GET", target, "", headers);
  }
  Heard Post(std::string_view target, std::string_view body) {
    return Request("POST", target, body);
  }
  Heard Check(std::string_view query) {
    return Get("/api/v1/rate-limit/check?" + std::string(query));
  }
  Heard CheckBody(std::string_view body) { return Post("/api/v1/rate-limit/check", body); }

  WaywardStore store_;
  HttpHost host_{store_};
  CountingCarrier carrier_;
  HttpOptions options_;
  Peer peer_{.address = "127.0.0.1", .is_local = true, .ip = ParseAddress("127.0.0.1")};
  std::unique_ptr<HttpLoop> loop_;
  std::unique_ptr<HttpSession> session_;
};

/// The text of a JSON member, as in `"code":"X"`; empty if there is none. Finds the first.
inline std::string TextOf(const std::string& json, const std::string& name) {
  const std::string begin = "\"" + name + "\":\"";
  const std::size_t at = json.find(begin);
  if (at == std::string::npos) return {};
  return json.substr(at + begin.size(), json.find('"', at + begin.size()) - at - begin.size());
}

/// The number of a JSON member; -999 if there is none. Finds the first.
inline std::int64_t NumberOf(const std::string& json, const std::string& name) {
  const std::string begin = "\"" + name + "\":";
  const std::size_t at = json.find(begin);
  return at == std::string::npos ? -999 : std::stoll(json.substr(at + begin.size()));
}

constexpr std::string_view kThreeAMinute = R"(
rules:
  - id: api
    algorithm: fixed_window
    limit: 3
    window: 60
)";

}  // namespace sluice::api::testing

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "api/http/loop.h"
#include "api/http/session.h"
#include "api/testing/delayed_store.h"
#include "api/testing/fake_services.h"
#include "match/load_rules.h"

namespace sluice::api::testing {

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
    loop_ = std::make_unique<HttpLoop>(services_, options_);
    Connect();
  }
  void Connect() { session_ = std::make_unique<HttpSession>(*loop_, transport_, peer_); }

  void Load(std::string_view yaml) {
    const LoadReport report = LoadRules(services_.live, "rules.yaml", yaml, services_.now());
    ASSERT_EQ(report.outcome, LoadOutcome::kActivated) << ::testing::PrintToString(report.errors);
  }

  std::string Taken() { return std::exchange(session_->output(), {}); }
  std::string Send(std::string_view bytes) {
    if (loop_ == nullptr) Start();
    session_->Receive(bytes);
    services_.FinishSlowWork();
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
    if (has_body && heard.status != 204 && heard.status != 304) {
      EXPECT_EQ(heard.Header("Content-Length"), std::to_string(heard.body.size())) << bytes;
    }
    return heard;
  }

  Heard Request(std::string_view method, std::string_view target, std::string_view body = "",
                std::string_view headers = "") {
    std::string bytes;
    bytes.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n");
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

  DelayedStore store_;
  FakeServices services_{store_};
  FakeTransport transport_;
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

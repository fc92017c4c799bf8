#include "api/http/stream.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/admin/insight_services.h"
#include "api/testing/http_server.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using namespace std::chrono_literals;

// One viewer, to whom the test delivers.
class OneViewer final : public InsightServices {
 public:
  bool Run(std::function<void(InsightReader&)> /*task*/, std::function<void()> /*done*/) override {
    return false;
  }
  std::unique_ptr<DenialSubscription> Watch(
      DenialFilter filter, identity::Principal /*principal*/, DenialReplay /*replay*/,
      std::function<void(const DenialBatch&)> deliver) override {
    if (is_full) return nullptr;
    last_filter = std::move(filter);
    deliver_ = std::move(deliver);
    struct Subscription final : DenialSubscription {
      explicit Subscription(OneViewer& its_owner) : owner(its_owner) {}
      ~Subscription() override { owner.deliver_ = nullptr; }
      OneViewer& owner;
    };
    return std::make_unique<Subscription>(*this);
  }

  [[nodiscard]] bool is_watched() const { return deliver_ != nullptr; }
  void Deliver(const DenialBatch& batch) { deliver_(batch); }

  bool is_full = false;
  DenialFilter last_filter;

 private:
  std::function<void(const DenialBatch&)> deliver_;
};

class StreamTest : public testing::HttpTest {
 protected:
  StreamTest() { services_.insight_services = &viewer_; }

  static std::string Request(std::string_view accept = "text/event-stream",
                             std::string_view query = "", std::string_view version = "1.1") {
    return "GET /admin/v1/denials" + std::string(query) + " HTTP/" + std::string(version) +
           "\r\nHost: localhost\r\nAccept: " + std::string(accept) + "\r\n\r\n";
  }

  OneViewer viewer_;
};

TEST_F(StreamTest, DenialsAreSentAsEventsInChunksUntilTheServerDrains) {
  const std::string head = Send(Request());
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(head, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(head, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_FALSE(session_->closing());
  viewer_.Deliver({.denials = {{7, R"({"key":"a"})"}}});
  EXPECT_EQ(Taken(), "27\r\nid: 7\nevent: denial\ndata: {\"key\":\"a\"}\n\n\r\n");
  EXPECT_FALSE(session_->in_request());
  session_->Drain();
  EXPECT_TRUE(session_->closing());
  EXPECT_EQ(Taken(), "0\r\n\r\n");
  viewer_.Deliver({.denials = {{8, "{}"}}});
  EXPECT_EQ(Taken(), "");
  session_.reset();
  EXPECT_FALSE(viewer_.is_watched());
}

TEST_F(StreamTest, OtherClientsGetJsonLines) {
  EXPECT_THAT(Send(Request("*/*", "?rule=search&key=alice")),
              HasSubstr("Content-Type: application/x-ndjson\r\n"));
  EXPECT_EQ(viewer_.last_filter.rule, "search");
  EXPECT_EQ(viewer_.last_filter.key, "alice");
  viewer_.Deliver({.denials = {{7, "{}"}}, .dropped = 5});
  EXPECT_EQ(Taken(), "e\r\n{\"dropped\":5}\n\r\n3\r\n{}\n\r\n");
}

TEST_F(StreamTest, AClientOfHttp10GetsTheBodyWithoutChunks) {
  EXPECT_THAT(Send(Request("*/*", "", "1.0")), Not(HasSubstr("chunked")));
  viewer_.Deliver({.denials = {{7, "{}"}}});
  EXPECT_EQ(Taken(), "{}\n");
  EXPECT_FALSE(session_->closing());
}

TEST_F(StreamTest, AClientThatDoesNotReadHoldsABoundedAmountAndLearnsWhatItMissed) {
  Send(Request());
  const DenialBatch batch{.denials = {{1, std::string(1000, 'x')}}};
  for (int i = 0; i < 1000; ++i) viewer_.Deliver(batch);
  EXPECT_LE(session_->output().size(), HttpSession::kMaxStreamedBytes + 100);
  EXPECT_THAT(session_->output(), Not(HasSubstr("dropped")));
  Taken();
  viewer_.Deliver(batch);
  EXPECT_THAT(Taken(), HasSubstr("event: dropped\ndata: {\"dropped\":74"));
}

TEST_F(StreamTest, BytesAfterTheRequestAreDiscarded) {
  Send(Request() + "GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(Send("GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"), "");
  EXPECT_FALSE(session_->in_request());
  EXPECT_FALSE(session_->closing());
}

TEST_F(StreamTest, AStreamEndsSoonAfterItsTokenIsRevokedOrExpires) {
  services_.token = "a-bootstrap-token";
  const auto begin = [this](identity::AccessToken with) {
    const std::string token = services_.AddToken(std::move(with));
    Start();
    std::string request = Request();
    request.insert(request.find("\r\n") + 2, "X-Sluice-Token: " + token + "\r\n");
    EXPECT_THAT(Send(request), StartsWith("HTTP/1.1 200 OK\r\n"));
    session_->OnTimer(SteadyClock::Now() + 1s);
    EXPECT_FALSE(session_->closing());
  };
  begin({.role = identity::Role::kViewer});
  services_.tokens.clear();
  services_.LoadTokens();
  session_->OnTimer(SteadyClock::Now() + 1s);
  EXPECT_TRUE(session_->closing());

  begin({.role = identity::Role::kViewer, .expires_at = services_.clock.Now() + 10s});
  services_.clock.Advance(11s);
  session_->OnTimer(SteadyClock::Now() + 1s);
  EXPECT_TRUE(session_->closing());
}

TEST_F(StreamTest, AQuietStreamHasHeartbeats) {
  Send(Request());
  session_->OnTimer(SteadyClock::Now() + 1s);
  EXPECT_EQ(Taken(), "");
  session_->OnTimer(SteadyClock::Now() + 11s);
  EXPECT_EQ(Taken(), "d\r\n: heartbeat\n\n\r\n");
  session_->OnTimer(SteadyClock::Now() + 2h);  // The client shows its token again.
  EXPECT_TRUE(session_->closing());
}

TEST_F(StreamTest, HeadAndWrongParametersAndFullServersBeginNoStream) {
  EXPECT_THAT(Send("HEAD /admin/v1/denials HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_FALSE(viewer_.is_watched());
  Connect();
  EXPECT_THAT(Send(Request("*/*", "?nonsense=1")), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Send(Request("*/*", "?follow=2")), StartsWith("HTTP/1.1 400"));
  viewer_.is_full = true;
  EXPECT_THAT(Send(Request()), StartsWith("HTTP/1.1 503"));
}

}  // namespace
}  // namespace sluice::api

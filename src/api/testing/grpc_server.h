#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "api/grpc/loop.h"
#include "api/grpc/methods.h"
#include "api/grpc/session.h"
#include "api/testing/delayed_store.h"
#include "api/testing/fake_services.h"
#include "wire/testing/http2_client.h"

namespace sluice::api::testing {

/// Methods for tests. "/test/Echo" gives back what it gets, "/test/Fail" refuses, "/test/Limit" has
/// five of each message in an hour, "/test/Many" asks as many checks as its message has bytes,
/// "/test/Talk" is a dialogue that ends at "stop". All others are the server's.
[[nodiscard]] const GrpcMethod* FindTestMethod(std::string_view path);

/// How long the last check was to wait.
inline Micros last_timeout{0};

/// A session with a client at its other end, and a time of its own.
class GrpcServer {
 public:
  explicit GrpcServer(const GrpcOptions& options = {}, std::uint32_t window = 65535)
      : loop(services, WithTestMethods(options)), client(window) {}

  /// Lets both talk until neither has anything to say.
  void Talk() {
    for (;;) {
      const std::string asked = client.Output();
      if (!asked.empty()) session->Receive(asked);
      if (session->held_back()) session->Resume();
      const std::string sent = std::exchange(session->output(), {});
      if (asked.empty() && sent.empty()) return;
      client.Receive(sent);
    }
  }
  const wire::testing::Http2Client::Answer& Ask(
      std::string_view path, std::string_view message,
      const wire::testing::Http2Client::Fields& more = {}) {
    const std::int32_t stream = client.Call(path, message, more);
    Talk();
    return client.answer(stream);
  }
  void Pass(Micros time) {
    now += time;
    session->OnTimer(now);
  }

  DelayedStore store;
  FakeServices services{store};
  GrpcLoop loop;
  FakeTransport transport;
  std::unique_ptr<GrpcSession> session = std::make_unique<GrpcSession>(loop, transport, Peer{});
  wire::testing::Http2Client client;
  SteadyTime now{std::chrono::hours(1)};

 private:
  static GrpcOptions WithTestMethods(GrpcOptions options) {
    options.find_method = FindTestMethod;
    return options;
  }
};

}  // namespace sluice::api::testing

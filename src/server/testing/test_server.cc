#include "server/testing/test_server.h"

#include <thread>

#include <gtest/gtest.h>

namespace sluice::server::testing {

TestServer::TestServer(const TestServerOptions& options)
    : admission_(options.admission), loops_(options.loops) {
  main_.Do([&] {
    entrance_ = std::make_unique<Entrance>(
        main_.loop(), loops_, admission_, options.entrance, [this](std::size_t index) {
          return [this, index](api::SessionHost& host, const ConnectionFacts& facts) {
            return std::make_unique<LineSession>(host, facts, loops_[index], index, held_);
          };
        });
    entrance_->UseTls(options.tls);
  });
  address_ = ListenToo({.address = {.host = "127.0.0.1"}},
                       options.tls ? Security::kTls : Security::kPlain);
}

TestServer::~TestServer() {
  main_.Do([this] { entrance_.reset(); });
}

net::ListenAddress TestServer::ListenToo(const net::ListenOptions& options, Security security) {
  net::ListenAddress address;
  main_.Do([&] {
    const auto listening = entrance_->Listen(options, security);
    EXPECT_TRUE(listening) << listening.error().message;
    if (listening) address = *listening;
  });
  return address;
}

void TestServer::Drain(Micros patience) {
  main_.Do(
      [&] { entrance_->Drain(main_.loop().Now() + patience, [this] { drained_.store(true); }); });
}

bool Eventually(const std::function<bool()>& holds) {
  const SteadyTime deadline = SteadyClock::Now() + std::chrono::seconds(20);
  while (!holds()) {
    if (SteadyClock::Now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace sluice::server::testing

#include "transport/testing/test_server.h"

#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace sluice::transport::testing {

TestServer::TestServer(const TestServerOptions& options)
    : admission_(options.admission), memory_(options.memory), loops_(options.loops) {
  held_.queue = options.queue;
  main_.Do([&] {
    listener_group_ = std::make_unique<ListenerGroup>(
        main_.loop(), loops_, admission_, memory_, options.listener_group,
        [this](std::size_t index) {
          return [this, index](transport::Transport& host, const ConnectionFacts& facts) {
            return std::make_unique<LineSession>(host, facts, loops_[index], index, held_);
          };
        });
    if (options.tls) UseTls(options.tls);
    listener_group_->UseTls(tls_);
  });
  address_ = ListenToo({.address = {.host = "127.0.0.1"}},
                       options.tls ? Security::kTls : Security::kPlain);
}

TestServer::~TestServer() {
  main_.Do([this] { listener_group_.reset(); });
}

net::ListenAddress TestServer::ListenToo(const net::ListenOptions& options, Security security) {
  net::ListenAddress address;
  main_.Do([&] {
    const auto listening = listener_group_->Listen(options, security);
    EXPECT_TRUE(listening) << listening.error().message;
    if (listening) address = *listening;
  });
  return address;
}

void TestServer::UseTls(std::shared_ptr<const net::TlsContext> tls) {
  tls_.Load("", "", WallTime{},
            [&]() -> LiveCandidate<net::TlsContext> { return {.value = std::move(tls)}; });
}

void TestServer::Drain(Micros timeout) {
  main_.Do([&] {
    listener_group_->Drain(main_.loop().Now() + timeout, [this] { drained_.store(true); });
  });
}

bool Eventually(const std::function<bool()>& holds) {
  const SteadyTime deadline = SteadyClock::Now() + std::chrono::seconds(20);
  while (!holds()) {
    if (SteadyClock::Now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace sluice::transport::testing

#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "transport/listener_group.h"
#include "transport/testing/line_session.h"

namespace sluice::transport::testing {

struct TestServerOptions {
  std::size_t loops = 2;
  ListenerGroupOptions listener_group{};
  AdmissionLimits admission{};
  std::size_t memory = std::size_t{1} << 30;     ///< For input and output of all connections.
  store::StoreQueue* queue = nullptr;            ///< Of one loop, where `hold` counts.
  std::shared_ptr<const net::TlsContext> tls{};  ///< Null: it speaks in plain text.
};

/// A server of line sessions with threads of its own, on a port of 127.0.0.1 that was free.
class TestServer {
 public:
  explicit TestServer(const TestServerOptions& options = {});
  ~TestServer();

  [[nodiscard]] const net::ListenAddress& address() const { return address_; }
  net::ListenAddress ListenToo(const net::ListenOptions& options,
                               Security security = Security::kPlain);
  [[nodiscard]] Held& held() { return held_; }
  [[nodiscard]] Admission& admission() { return admission_; }
  [[nodiscard]] const MemoryBudget& memory() const { return memory_; }
  [[nodiscard]] ConnectionCounters totals() const { return listener_group_->Totals(); }
  [[nodiscard]] net::LoopThread& main() { return main_; }
  [[nodiscard]] net::Loops& loops() { return loops_; }
  [[nodiscard]] ListenerGroup& listener_group() {
    return *listener_group_;
  }  ///< On the main loop only.

  /// For connections that come from now on. From any thread.
  void UseTls(std::shared_ptr<const net::TlsContext> tls);
  void Drain(Micros timeout);
  [[nodiscard]] bool drained() const { return drained_.load(); }

 private:
  Admission admission_;
  MemoryBudget memory_;
  Held held_;
  net::Loops loops_;
  net::LoopThread main_;
  Live<net::TlsContext> tls_;
  std::unique_ptr<ListenerGroup> listener_group_;
  net::ListenAddress address_;
  std::atomic<bool> drained_{false};
};

/// Looks again and again until it is so. False: in vain.
bool Eventually(const std::function<bool()>& holds);

}  // namespace sluice::transport::testing

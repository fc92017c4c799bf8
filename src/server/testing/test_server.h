#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "server/entrance.h"
#include "server/testing/line_session.h"

namespace sluice::server::testing {

struct TestServerOptions {
  std::size_t loops = 2;
  EntranceOptions entrance{};
  AdmissionLimits admission{};
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
  [[nodiscard]] ConnectionTotals totals() const { return entrance_->Totals(); }
  [[nodiscard]] net::LoopThread& main() { return main_; }
  [[nodiscard]] Entrance& entrance() { return *entrance_; }  ///< On the main loop only.

  void Drain(Micros patience);
  [[nodiscard]] bool drained() const { return drained_.load(); }

 private:
  Admission admission_;
  Held held_;
  Loops loops_;
  net::LoopThread main_;
  std::unique_ptr<Entrance> entrance_;
  net::ListenAddress address_;
  std::atomic<bool> drained_{false};
};

/// Looks again and again until it is so. False: in vain.
bool Eventually(const std::function<bool()>& holds);

}  // namespace sluice::server::testing

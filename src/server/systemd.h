#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "base/clock.h"
#include "net/fd.h"
#include "net/loop.h"
#include "net/timer.h"

namespace sluice::server {

/// Variables that systemd set in the environment.
struct SystemdEnvironment {
  std::string notify_socket{};  ///< Empty: no notifications.
  Micros watchdog{0};           ///< Zero: there is none.
};
[[nodiscard]] SystemdEnvironment ReadSystemdEnvironment();

/// Sends notifications to systemd, if there is one. A message that can't be sent is lost:
/// no server should fail over it.
class Systemd {
 public:
  explicit Systemd(const SystemdEnvironment& environment);

  [[nodiscard]] bool wanted() const { return static_cast<bool>(socket_); }

  void Ready();
  /// Until the next Ready.
  void Reloading();
  void Stopping();
  /// For people who ask `systemctl status`: one line.
  void Status(std::string_view text);
  void Watchdog();

 private:
  void Send(std::string_view message);

  net::Fd socket_;
};

/// Tells systemd's watchdog, at twice the pace that it asks for, that we are alive, if we are.
/// Lives on the loop's thread.
class Watchdog {
 public:
  /// Does nothing without a watchdog.
  Watchdog(net::Loop& loop, Systemd& systemd, Micros watchdog, std::function<bool()> alive);

 private:
  void Tick();

  net::Loop& loop_;
  Systemd& systemd_;
  const Micros interval_;
  const std::function<bool()> alive_;
  net::Timer timer_;
};

}  // namespace sluice::server

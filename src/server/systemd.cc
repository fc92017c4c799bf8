#include "server/systemd.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>

#include "base/parse_number.h"

namespace sluice::server {
namespace {

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// The variable is meant for this process, unless it names another.
Micros WatchdogInterval() {
  const std::string pid = Variable("WATCHDOG_PID");
  if (!pid.empty() && ParseNumber<std::int64_t>(pid) != std::int64_t{getpid()}) return Micros{0};
  return Micros{
      std::max(ParseNumber<std::int64_t>(Variable("WATCHDOG_USEC")).value_or(0), std::int64_t{0})};
}

}  // namespace

SystemdEnvironment ReadSystemdEnvironment() {
  return {.notify_socket = Variable("NOTIFY_SOCKET"), .watchdog = WatchdogInterval()};
}

Systemd::Systemd(const SystemdEnvironment& environment) {
  const std::string& name = environment.notify_socket;
  sockaddr_un address{};
  if (name.size() < 2 || name.size() >= sizeof address.sun_path) return;
  if (name[0] != '/' && name[0] != '@') return;
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path, name.size());
  if (name[0] == '@')
    address.sun_path[0] = '\0';  // An abstract name: no file, and no end but its size.
  net::Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (socket && connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) {
    socket_ = std::move(socket);
  }
}

void Systemd::Send(std::string_view message) {
  if (socket_)
    static_cast<void>(!send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL));
}

void Systemd::Ready() { Send("READY=1"); }

void Systemd::Reloading() {
  Send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(MonotonicMicros().count()));
}

void Systemd::Stopping() { Send("STOPPING=1"); }

void Systemd::Status(std::string_view text) {
  std::string message = "STATUS=";
  message += text.substr(0, text.find('\n'));
  Send(message);
}

void Systemd::Watchdog() { Send("WATCHDOG=1"); }

Watchdog::Watchdog(net::Loop& loop, Systemd& systemd, Micros watchdog, std::function<bool()> alive)
    : loop_(loop),
      systemd_(systemd),
      interval_(watchdog / 2),
      alive_(std::move(alive)),
      timer_(loop, [this] { Tick(); }) {
  if (interval_ > Micros{0} && systemd_.wanted()) timer_.Set(loop_.Now());
}

void Watchdog::Tick() {
  if (alive_()) systemd_.Watchdog();
  timer_.Set(loop_.Now() + interval_);
}

}  // namespace sluice::server

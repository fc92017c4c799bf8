#include "redis/testing/tcp_proxy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::redis::testing {
namespace {

constexpr int kPollMilliseconds = 1;  // Also how exact a delay is.
constexpr std::size_t kMostHeld = 256;

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

void SetNoDelay(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

TcpProxy::TcpProxy(std::uint16_t server_port)
    : server_port_(server_port), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      listen(listener_, SOMAXCONN) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the proxy can't listen");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

TcpProxy::~TcpProxy() {
  stopping_.store(true);
  thread_.join();
  CutAll();
  for (const auto& link : links_) {
    close(link->to_server.from);
    close(link->to_server.to);
  }
  close(listener_);
}

void TcpProxy::CutNextAfter(Direction direction, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  (direction == Direction::kToServer ? cut_to_server_ : cut_to_client_) = bytes;
}

void TcpProxy::CutAll() {
  const std::lock_guard lock(mutex_);
  for (const auto& link : links_) link->over = true;
}

void TcpProxy::SetDelay(Micros delay) {
  const std::lock_guard lock(mutex_);
  delay_ = delay;
}

void TcpProxy::SwallowAll() {
  const std::lock_guard lock(mutex_);
  swallows_ = true;
}

void TcpProxy::BeTransparent() {
  const std::lock_guard lock(mutex_);
  swallows_ = false;
  delay_ = Micros{0};
}

void TcpProxy::Run() {
  std::vector<pollfd> polled;
  while (!stopping_.load()) {
    polled.assign(1, {listener_, POLLIN, 0});
    {
      const std::lock_guard lock(mutex_);
      for (const auto& link : links_) {
        polled.push_back({link->to_server.from, POLLIN, 0});
        polled.push_back({link->to_client.from, POLLIN, 0});
      }
    }
    poll(polled.data(), polled.size(), kPollMilliseconds);
    const std::lock_guard lock(mutex_);
    for (const auto& link : links_) {
      for (Pipe* const pipe : {&link->to_server, &link->to_client}) {
        if (!link->over) Receive(*pipe, link->over);
        if (!link->over) Deliver(*pipe, link->over);
      }
      if (link->over) {
        close(link->to_server.from);
        close(link->to_server.to);
      }
    }
    std::erase_if(links_, [](const auto& link) { return link->over; });
    if ((polled[0].revents & POLLIN) != 0) Accept();
  }
}

void TcpProxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  accepted_.fetch_add(1);
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(server_port_);
  if (server < 0 ||
      connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(server);
    close(client);
    return;
  }
  SetNoDelay(client);
  SetNoDelay(server);
  links_.push_back(std::make_unique<Link>(
      Link{.to_server = {client, server, std::exchange(cut_to_server_, kUnlimited)},
           .to_client = {server, client, std::exchange(cut_to_client_, kUnlimited)}}));
}

void TcpProxy::Receive(Pipe& pipe, bool& over) {
  std::array<char, 65536> bytes;
  while (pipe.chunks.size() < kMostHeld) {
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): it does not block.
    const ssize_t got = recv(pipe.from, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      over = true;
      return;
    }
    if (!swallows_) {
      pipe.chunks.push_back(
          {SteadyClock::Now() + delay_, {bytes.data(), static_cast<std::size_t>(got)}});
    }
  }
}

void TcpProxy::Deliver(Pipe& pipe, bool& over) {
  const SteadyTime now = SteadyClock::Now();
  while (!pipe.chunks.empty() && pipe.chunks.front().due <= now) {
    std::string& bytes = pipe.chunks.front().bytes;
    const std::size_t most = std::min(bytes.size(), pipe.until_cut);
    const ssize_t sent = send(pipe.to, bytes.data(), most, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) {
      over = true;
      return;
    }
    if (pipe.until_cut != kUnlimited) pipe.until_cut -= static_cast<std::size_t>(sent);
    bytes.erase(0, static_cast<std::size_t>(sent));
    if (bytes.empty()) pipe.chunks.pop_front();
    if (pipe.until_cut == 0) over = true;
    if (over) return;
  }
}

}  // namespace sluice::redis::testing

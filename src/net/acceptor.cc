#include "net/acceptor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/un.h>

namespace sluice::net {
namespace {

// In one turn; the remaining connections are accepted in the next one.
constexpr int kMostAcceptsPerTurn = 256;
constexpr int kMostAcceptsAtClose = 1 << 16;
constexpr Micros kPause = std::chrono::milliseconds(50);

Error Failed(const std::string& what, int error) {
  return {ErrorCode::kInvalidOptions, what + ": " + std::strerror(error)};
}

Error CannotListen(const ListenAddress& address, int error) {
  if (error == EADDRINUSE) {
    return {ErrorCode::kInvalidOptions, "address in use: " + ToText(address)};
  }
  return Failed("can't listen on " + ToText(address), error);
}

void SetOption(const Fd& socket, int level, int name, int value) {
  // Best effort: not every kernel has every option.
  static_cast<void>(setsockopt(socket.get(), level, name, &value, sizeof value));
}

Fd OpenSocket(int family) {
  return Fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

template <typename T>
SocketAddress Wrap(const T& address) {
  SocketAddress wrapped;
  std::memcpy(&wrapped.storage, &address, sizeof address);
  wrapped.size = sizeof address;
  return wrapped;
}

SocketAddress UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return Wrap(address);
}

SocketAddress Ipv4Address(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (!host.empty()) inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return Wrap(address);
}

SocketAddress Ipv6Address(const std::string& host, std::uint16_t port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  if (!host.empty()) inet_pton(AF_INET6, host.c_str(), &address.sin6_addr);
  return Wrap(address);
}

// Returns a bound socket, or none with errno set.
Fd BindTcp(const ListenAddress& address, bool ipv6) {
  Fd socket = OpenSocket(ipv6 ? AF_INET6 : AF_INET);
  if (!socket) return socket;
  SetOption(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  // Accepted sockets inherit these. Keep-alive detects dead clients after two minutes.
  SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, 60);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, 15);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
  // Only "every address" means both; [::] means IPv6 only.
  if (ipv6) SetOption(socket, IPPROTO_IPV6, IPV6_V6ONLY, address.host.empty() ? 0 : 1);
  const SocketAddress to =
      ipv6 ? Ipv6Address(address.host, address.port) : Ipv4Address(address.host, address.port);
  if (bind(socket.get(), to.get(), to.size) == 0) return socket;
  const int error = errno;
  socket.Close();
  errno = error;
  return socket;
}

std::uint16_t PortOf(const Fd& socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  return PeerAddress(bound).port();
}

// Removes the file of a socket without a listener. Returns the conflict, if any.
std::optional<Error> RemoveStale(const ListenAddress& address) {
  struct stat file{};
  if (lstat(address.unix_path.c_str(), &file) != 0) return std::nullopt;
  if (!S_ISSOCK(file.st_mode)) {
    return Error{ErrorCode::kInvalidOptions,
                 "can't listen on " + ToText(address) + ": a file is in the way, not a socket"};
  }
  const Fd probe = OpenSocket(AF_UNIX);
  if (!probe) return CannotListen(address, errno);
  const SocketAddress to = UnixAddress(address.unix_path);
  // A listener that answers, or is too busy to (EAGAIN), is alive.
  if (connect(probe.get(), to.get(), to.size) == 0 || errno != ECONNREFUSED) {
    return CannotListen(address, EADDRINUSE);
  }
  unlink(address.unix_path.c_str());
  return std::nullopt;
}

bool IsOutOfDescriptors(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// The connection failed before accept; accept(2) recommends to treat these like EAGAIN.
bool IsTheConnections(int error) {
  switch (error) {
    case ECONNABORTED:
    case EPERM:
    case EPROTO:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
      return true;
    default:
      return false;
  }
}

Fd OpenReserve() { return Fd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

struct Acceptor::Bound {
  Fd socket;
  ListenAddress address;
  struct stat file{};
};

Result<Acceptor::Bound> Acceptor::Bind(const ListenOptions& options) {
  const ListenAddress& address = options.address;
  Bound bound{.socket = {}, .address = address};
  if (address.is_unix()) {
    if (address.unix_path.size() >= sizeof(sockaddr_un::sun_path)) {
      return CannotListen(address, ENAMETOOLONG);
    }
    if (auto obstacle = RemoveStale(address)) return *obstacle;
    bound.socket = OpenSocket(AF_UNIX);
    const SocketAddress to = UnixAddress(address.unix_path);
    if (!bound.socket || bind(bound.socket.get(), to.get(), to.size) != 0) {
      return CannotListen(address, errno);
    }
    // No client can connect before listen(): the mode is right from the beginning.
    if (options.unix_mode && chmod(address.unix_path.c_str(), *options.unix_mode) != 0) {
      return Failed("can't set the mode of " + address.unix_path, errno);
    }
    lstat(address.unix_path.c_str(), &bound.file);
  } else {
    const bool every = address.host.empty();
    const bool ipv6 = every || address.host.find(':') != std::string::npos;
    bound.socket = BindTcp(address, ipv6);
    // A machine without IPv6 still has every IPv4 address.
    if (!bound.socket && every && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
      bound.socket = BindTcp(address, false);
    }
    if (!bound.socket) return CannotListen(address, errno);
  }
  if (listen(bound.socket.get(), options.backlog) != 0) return CannotListen(address, errno);
  if (!address.is_unix()) bound.address.port = PortOf(bound.socket);
  return bound;
}

Result<std::unique_ptr<Acceptor>> Acceptor::Listen(Loop& loop, const ListenOptions& options,
                                                   OnAccept on_accept) {
  auto bound = Bind(options);
  if (!bound) return bound.error();
  return std::unique_ptr<Acceptor>(new Acceptor(loop, *std::move(bound), std::move(on_accept)));
}

Acceptor::Acceptor(Loop& loop, Bound bound, OnAccept on_accept)
    : loop_(loop),
      socket_(std::move(bound.socket)),
      address_(std::move(bound.address)),
      file_(bound.file),
      on_accept_(std::move(on_accept)),
      reserve_(OpenReserve()),
      retry_(loop, [this] { Resume(); }) {
  loop_.Watch(socket_.get(), EPOLLIN, *this);
}

Acceptor::~Acceptor() { Close(); }

void Acceptor::Close() {
  if (!socket_) return;
  // At most the size of the backlog, because new connections may keep coming.
  for (int i = 0; i < kMostAcceptsAtClose && AcceptOne(); ++i) {
  }
  retry_.Cancel();
  if (!paused_) loop_.Unwatch(socket_.get(), *this);
  paused_ = false;
  socket_.Close();
  reserve_.Close();
  struct stat file{};
  if (address_.is_unix() && lstat(address_.unix_path.c_str(), &file) == 0 &&
      file.st_ino == file_.st_ino && file.st_dev == file_.st_dev) {
    unlink(address_.unix_path.c_str());
  }
}

void Acceptor::OnReady(std::uint32_t /*events*/) {
  for (int i = 0; i < kMostAcceptsPerTurn && !paused_; ++i) {
    if (!AcceptOne()) return;
  }
}

// Returns whether there may be another.
bool Acceptor::AcceptOne() {
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  Fd socket(accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from), &size,
                    SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) return OnError(errno);
  counters_.accepted.Add();
  on_accept_(std::move(socket), PeerAddress(from));
  return true;
}

bool Acceptor::OnError(int error) {
  if (error == EAGAIN) return false;
  if (error == EINTR) return true;
  if (IsOutOfDescriptors(error)) return TurnAwayOne();
  counters_.failed.Add();
  if (IsTheConnections(error)) return true;
  Pause();
  return false;
}

bool Acceptor::TurnAwayOne() {
  reserve_.Close();
  Fd unlucky(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const int error = unlucky ? 0 : errno;
  // The backlog is empty: accept needs a descriptor even then.
  if (error != EAGAIN) counters_.fd_limit.Add();
  unlucky.Close();
  reserve_ = OpenReserve();
  if (error == EAGAIN) return false;
  if (error == 0 && reserve_) return true;
  // Another thread took the descriptor, or the limit is system-wide.
  Pause();
  return false;
}

void Acceptor::Pause() {
  if (paused_) return;
  paused_ = true;
  loop_.Unwatch(socket_.get(), *this);
  retry_.Set(loop_.Now() + kPause);
}

void Acceptor::Resume() {
  paused_ = false;
  if (!reserve_) reserve_ = OpenReserve();
  loop_.Watch(socket_.get(), EPOLLIN, *this);
}

}  // namespace sluice::net

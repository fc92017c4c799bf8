#include "statsd/statsd_sender.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <netdb.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace sluice::statsd {
namespace {

constexpr std::size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr int kDatagrams = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

net::Fd ConnectUnix(const std::string& path) {
  net::Fd socket(::socket(AF_UNIX, kDatagrams, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (!socket || ::connect(socket.get(), generic, sizeof address) != 0) return {};
  return socket;
}

net::Fd ConnectUdp(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    net::Fd socket(::socket(one->ai_family, kDatagrams, 0));
    if (socket && ::connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0) return socket;
  }
  return {};
}

}  // namespace

Result<bool> ReadAddress(std::string_view text, SenderOptions& options) {
  const Error invalid{ErrorCode::kInvalidOptions,
                      "expected HOST:PORT or unix:/PATH, found '" + std::string(text) + "'"};
  if (text.starts_with("unix:/")) {
    options.unix_path = text.substr(5);
    return options.unix_path.size() <= kMaxUnixPath ? Result<bool>(true) : invalid;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return invalid;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || port.empty() || port.size() > 5 ||
      port.find_first_not_of("0123456789") != std::string_view::npos ||
      host.find_first_of(" /[]") != std::string_view::npos) {
    return invalid;
  }
  options.host = host;
  options.port = port;
  return true;
}

Sender::~Sender() {
  while (!TryStop(std::chrono::seconds(1))) {
  }
  if (thread_.joinable()) thread_.join();
}

void Sender::Start(WriteMetrics write_metrics) {
  write_metrics_ = std::move(write_metrics);
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "sluice-statsd");
    Run();
    stopped_.set_value();
  });
}

bool Sender::TryStop(Micros timeout) {
  if (!thread_.joinable()) return true;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  return done_.wait_for(timeout) == std::future_status::ready;
}

SenderMetrics Sender::Metrics() const {
  const std::lock_guard lock(mutex_);
  return metrics_;
}

void Sender::Run() {
  bool last = false;
  while (!last) {
    {
      std::unique_lock lock(mutex_);
      last = wake_.wait_for(lock, options_.interval, [this] { return stopping_; });
    }
    Export();
  }
}

bool Sender::Connect() {
  socket_ = options_.unix_path.empty() ? ConnectUdp(options_.host, options_.port)
                                       : ConnectUnix(options_.unix_path);
  return static_cast<bool>(socket_);
}

void Sender::Export() {
  StatsdLines lines(options_.format, options_.prefix, options_.labels, last_);
  write_metrics_(lines);
  SenderMetrics now;
  for (const std::string& datagram : lines.datagrams()) {
    const bool is_connected = socket_ || Connect();
    const bool is_sent = is_connected && ::send(socket_.get(), datagram.data(), datagram.size(),
                                                MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
    ++(is_sent ? now.sent : now.dropped);
    // A receiver that was started again has another socket; a name may have
    // another address.
    if (!is_sent) socket_.Close();
    if (!is_connected) {
      now.dropped += lines.datagrams().size() - now.sent - now.dropped;
      break;
    }
  }
  const std::lock_guard lock(mutex_);
  metrics_.sent += now.sent;
  metrics_.dropped += now.dropped;
}

}  // namespace sluice::statsd

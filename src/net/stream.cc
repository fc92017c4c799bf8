#include "net/stream.h"

#include <array>
#include <cassert>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "net/timer.h"
#include "net/tls.h"

namespace sluice::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
using Endpoint = asio::generic::stream_protocol::endpoint;

constexpr std::size_t kReadBytes = 64U << 10;

// Keep-alive detects dead peers after about half a minute.
constexpr int kKeepAliveIdleSeconds = 15;
constexpr int kKeepAliveIntervalSeconds = 5;
constexpr int kKeepAliveProbes = 3;

void SetOption(int socket, int level, int name, int value) {
  // Best effort: not every kernel has every option.
  static_cast<void>(setsockopt(socket, level, name, &value, sizeof value));
}

void TuneTcp(int socket) {
  SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

std::string Reason(const error_code& error) {
  // TLS reports truncation without a close_notify; Redis never sends one.
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
    return "closed by the server";
  }
  return error.message();
}

}  // namespace

// Outlives the Stream while Asio has pending operations, which then find `events_` null.
class Stream::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(Loop& loop, StreamOptions options, StreamEvents& events)
      : loop_(loop),
        options_(std::move(options)),
        events_(&events),
        socket_(loop.context()),
        resolver_(loop.context()),
        connect_timer_(loop, [this] { End("no connection within the connect timeout"); }) {}

  void Start() {
    connect_timer_.Set(loop_.Now() + options_.connect_timeout);
    asio::post(loop_.context(), [self = shared_from_this()] {
      if (self->events_ != nullptr) self->Resolve();
    });
  }

  void Close() {
    events_ = nullptr;
    connect_timer_.Cancel();
    resolver_.cancel();
    error_code ignored;
    socket_.close(ignored);
  }

  void Write(std::string& bytes) {
    assert(!writing_);
    out_.clear();
    out_.swap(bytes);
    writing_ = true;
    WriteFrom(0);
  }

  [[nodiscard]] bool writing() const { return writing_; }

 private:
  void End(const std::string& reason) {
    if (events_ == nullptr) return;
    StreamEvents& events = *events_;
    Close();
    events.OnEnded(reason);
  }

  // Runs `next` unless the stream has ended or `error` is set.
  template <typename Next>
  void Continue(const error_code& error, const Next& next) {
    if (events_ == nullptr) return;
    if (error) return End(Reason(error));
    next();
  }

  void Resolve() {
    error_code no_address;
    const auto address = asio::ip::make_address(options_.host, no_address);
    if (!options_.unix_socket.empty()) {
      // The path must fit into a socket's address, else Asio throws.
      if (options_.unix_socket.size() >= sizeof(sockaddr_un::sun_path)) {
        return End("the path of the Unix socket is too long: " + options_.unix_socket);
      }
      return ConnectTo({Endpoint(asio::local::stream_protocol::endpoint(options_.unix_socket))});
    }
    if (!no_address) {
      return ConnectTo({Endpoint(asio::ip::tcp::endpoint(address, options_.port))});
    }
    resolver_.async_resolve(
        options_.host, std::to_string(options_.port),
        [self = shared_from_this()](const error_code& error,
                                    const asio::ip::tcp::resolver::results_type& found) {
          self->Continue(error, [&] {
            std::vector<Endpoint> endpoints;
            for (const auto& entry : found) endpoints.emplace_back(entry.endpoint());
            self->ConnectTo(endpoints);
          });
        });
  }

  void ConnectTo(const std::vector<Endpoint>& endpoints) {
    asio::async_connect(socket_, endpoints,
                        [self = shared_from_this()](const error_code& error, const Endpoint&) {
                          self->Continue(error, [&] { self->OnSocketConnected(); });
                        });
  }

  void OnSocketConnected() {
    if (options_.unix_socket.empty()) TuneTcp(socket_.native_handle());
    if (!options_.tls.enabled) return OnReady();
    tls_context_.emplace(asio::ssl::context::tls_client);
    auto problem = ConfigureTls(options_.tls, *tls_context_);
    if (problem) return End(*problem);
    tls_.emplace(socket_, *tls_context_);
    problem = ExpectServer(options_.tls, options_.unix_socket.empty() ? options_.host : "",
                           tls_->native_handle());
    if (problem) return End(*problem);
    tls_->async_handshake(asio::ssl::stream_base::client,
                          [self = shared_from_this()](const error_code& error) {
                            if (self->events_ == nullptr) return;
                            if (!error) return self->OnReady();
                            self->End(HandshakeFailure(self->tls_->native_handle(), error));
                          });
  }

  void OnReady() {
    connect_timer_.Cancel();
    in_ = std::make_unique_for_overwrite<std::array<char, kReadBytes>>();
    Read();
    events_->OnConnected();
  }

  void Read() {
    auto done = [self = shared_from_this()](const error_code& error, std::size_t bytes) {
      self->Continue(error, [&] {
        self->events_->OnData({self->in_->data(), bytes});
        if (self->events_ != nullptr) self->Read();
      });
    };
    if (tls_) {
      tls_->async_read_some(asio::buffer(*in_), std::move(done));
    } else {
      socket_.async_read_some(asio::buffer(*in_), std::move(done));
    }
  }

  // Not asio::async_write, which writes 64 KiB at most at a time.
  void WriteFrom(std::size_t offset) {
    auto done = [self = shared_from_this(), offset](const error_code& error, std::size_t bytes) {
      self->Continue(error, [&] {
        if (offset + bytes < self->out_.size()) return self->WriteFrom(offset + bytes);
        self->writing_ = false;
        self->events_->OnWritten();
      });
    };
    const auto rest = asio::buffer(out_) + offset;
    if (tls_) {
      tls_->async_write_some(rest, std::move(done));
    } else {
      socket_.async_write_some(rest, std::move(done));
    }
  }

  Loop& loop_;
  StreamOptions options_;
  StreamEvents* events_;  // Null: ended.
  Socket socket_;
  asio::ip::tcp::resolver resolver_;
  std::optional<asio::ssl::context> tls_context_;
  std::optional<asio::ssl::stream<Socket&>> tls_;
  Timer connect_timer_;
  std::unique_ptr<std::array<char, kReadBytes>> in_;
  std::string out_;
  bool writing_ = false;
};

Stream::Stream(Loop& loop, StreamOptions options, StreamEvents& events)
    : core_(std::make_shared<Core>(loop, std::move(options), events)) {
  core_->Start();
}

Stream::~Stream() { core_->Close(); }

void Stream::Write(std::string& bytes) { core_->Write(bytes); }

bool Stream::writing() const { return core_->writing(); }

}  // namespace sluice::net

#include "http_client/http_client.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/network.h"
#include "net/tls.h"

namespace sluice::http_client {

/// The parts of ClientOptions::server.
struct ServerUrl {
  bool https = false;
  std::string host{};  ///< Without brackets.
  std::string port{};
  std::string authority{};  ///< Host and port as they were written.
  std::string unix_path{};  ///< Takes precedence over host and port.
};

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::uint32_t kMaxHeaderBytes = 64 << 10;
constexpr std::size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;

Error InvalidServer(const std::string& server) {
  return {ErrorCode::kInvalidOptions,
          "server: expected http://HOST[:PORT], https://HOST[:PORT] or unix:/PATH, found '" +
              server + "'"};
}

bool IsPort(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<ServerUrl> ParseServer(const std::string& server) {
  ServerUrl url;
  std::string_view rest = server;
  if (rest.starts_with("unix:/")) {
    url.unix_path = rest.substr(5);
    url.host = url.authority = "localhost";
    return url.unix_path.size() <= kMaxUnixPath ? Result<ServerUrl>(url) : InvalidServer(server);
  }
  if (rest.starts_with("https://")) {
    url.https = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return InvalidServer(server);
  }
  if (rest.empty() || rest.find_first_of("/?#@ ") != std::string_view::npos) {
    return InvalidServer(server);
  }
  url.authority = rest;
  if (rest.front() == '[') {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return InvalidServer(server);
    url.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    url.host = rest.substr(0, rest.find(':'));
    rest.remove_prefix(url.host.size());
  }
  url.port = url.https ? "443" : "80";
  if (!rest.empty()) {
    if (rest.front() != ':' || !IsPort(rest.substr(1))) return InvalidServer(server);
    url.port = rest.substr(1);
  }
  if (url.host.empty()) return InvalidServer(server);
  return url;
}

bool IsThisMachine(const std::string& host) {
  if (host == "localhost") return true;
  const auto address = ParseAddress(host);
  return address && (ParseNetwork("127.0.0.0/8")->Contains(*address) ||
                     *address == Address{.high = 0, .low = 1});
}

bool IsInvalidHttp(const error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_version).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

}  // namespace

/// One connection at a time, over which requests follow each other. Every function returns the
/// reason if it fails.
struct HttpClient::Connection {
  using Protocol = asio::generic::stream_protocol;  // TCP, or a Unix socket.
  using Stream = asio::ssl::stream<beast::basic_stream<Protocol>>;
  using Failure = std::optional<std::string>;

  Connection(const ClientOptions& its_options, ServerUrl its_url)
      : options(its_options), url(std::move(its_url)) {}

  Failure Configure();
  using Parser = http::response_parser<http::string_body>;
  /// `receive`: see HttpClient::Stream; null: the body stays in the parser.
  Failure Exchange(const http::request<http::string_body>& request, Parser& parser,
                   const ReceiveBody* receive);
  void Cancel();

  ClientOptions options;
  ServerUrl url;

 private:
  std::vector<Protocol::endpoint> Resolve(error_code& error);
  Failure Open();
  Failure Handshake();
  [[nodiscard]] bool IsIdle();

  // Runs one asynchronous operation to its end: only these have timeouts.
  template <typename Start>
  error_code Run(Micros timeout, Start start) {
    error_code result;
    if (end_) timeout = std::min(timeout, *end_ - SteadyClock::Now());
    if (timeout <= Micros{0} || is_canceled_.load()) return beast::error::timeout;
    stream_->next_layer().expires_after(timeout);
    start([&result](error_code error, const auto&... /*ignored*/) { result = error; });
    loop_.restart();
    loop_.run();
    return result;
  }

  // Calls `use` with the stream that carries HTTP.
  template <typename Use>
  void WithStream(Use use) {
    if (url.https) {
      use(*stream_);
    } else {
      use(stream_->next_layer());
    }
  }

  std::atomic<bool> is_canceled_{false};
  std::optional<SteadyTime> end_;  ///< Of the exchange under way, if there is a bound.
  asio::io_context loop_;
  asio::ssl::context tls_{asio::ssl::context::tls_client};
  net::TlsOptions tls_options_{};
  std::optional<Stream> stream_;  ///< Empty: not connected.
  beast::flat_buffer buffer_;
};

HttpClient::Connection::Failure HttpClient::Connection::Configure() {
  if (!url.https) return std::nullopt;
  tls_options_ = {.enabled = true,
                  .ca_file = options.ca_file,
                  .cert_file = options.certificate_file,
                  .key_file = options.key_file};
  return net::ConfigureTls(tls_options_, tls_);
}

std::vector<HttpClient::Connection::Protocol::endpoint> HttpClient::Connection::Resolve(
    error_code& error) {
  if (!url.unix_path.empty()) return {asio::local::stream_protocol::endpoint(url.unix_path)};
  std::vector<Protocol::endpoint> endpoints;
  asio::ip::tcp::resolver resolver(loop_);
  for (const auto& found : resolver.resolve(url.host, url.port, error)) {
    endpoints.emplace_back(found.endpoint());
  }
  return endpoints;
}

HttpClient::Connection::Failure HttpClient::Connection::Open() {
  error_code error;
  const std::vector<Protocol::endpoint> endpoints = Resolve(error);
  if (error) return "can't find the host: " + error.message();
  stream_.emplace(loop_, tls_);
  buffer_.clear();
  error = Run(options.connect_timeout,
              [&](auto done) { stream_->next_layer().async_connect(endpoints, std::move(done)); });
  if (error == beast::error::timeout) return "timeout while connecting";
  if (error) return "can't connect";
  return url.https ? Handshake() : std::nullopt;
}

HttpClient::Connection::Failure HttpClient::Connection::Handshake() {
  SSL* const connection = stream_->native_handle();
  if (auto failure = net::ExpectServer(tls_options_, url.host, connection)) return failure;
  const error_code error = Run(options.connect_timeout, [&](auto done) {
    stream_->async_handshake(asio::ssl::stream_base::client, std::move(done));
  });
  if (error == beast::error::timeout) return "timeout in the TLS handshake";
  if (error) return net::HandshakeFailure(connection, error);
  return std::nullopt;
}

// Posted functions run only while an operation does: those that begin later see the flag.
void HttpClient::Connection::Cancel() {
  is_canceled_.store(true);
  asio::post(loop_, [this] {
    if (stream_) stream_->next_layer().cancel();
  });
}

// A server that has closed an idle connection, or has sent something unasked, is readable.
bool HttpClient::Connection::IsIdle() {
  char byte = 0;
  const int socket = stream_->next_layer().socket().native_handle();
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

HttpClient::Connection::Failure HttpClient::Connection::Exchange(
    const http::request<http::string_body>& request, Parser& parser, const ReceiveBody* receive) {
  end_.reset();
  if (options.total_timeout > Micros{0}) end_ = SteadyClock::Now() + options.total_timeout;
  if (!stream_ || !IsIdle()) {
    if (auto failure = Open()) {
      stream_.reset();
      return failure;
    }
  }
  error_code error = Run(options.timeout, [&](auto done) {
    WithStream([&](auto& stream) { http::async_write(stream, request, std::move(done)); });
  });
  const bool written = !error;
  bool ended = false;  // By `receive`.
  while (!error && !ended && !parser.is_done()) {
    error = Run(options.timeout, [&](auto done) {
      WithStream(
          [&](auto& stream) { http::async_read_some(stream, buffer_, parser, std::move(done)); });
    });
    if (receive == nullptr || !parser.is_header_done() || parser.get().result_int() / 100 != 2) {
      continue;
    }
    parser.body_limit(boost::none);
    std::string& part = parser.get().body();
    ended = !part.empty() && !(*receive)(part);
    part.clear();
  }
  if (error || ended || !parser.get().keep_alive()) stream_.reset();
  if (!error || ended) return std::nullopt;
  if (!written) return "the connection ended while the request was sent";
  if (error == http::error::body_limit) {
    return "the response has more than " + std::to_string(options.max_response_bytes) + " bytes";
  }
  return IsInvalidHttp(error) ? "not an HTTP response: " + error.message()
                              : "the connection ended, or there was no response in time";
}

std::string_view Response::Header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& header) {
    return EqualIgnoringCase(header.first, name);
  });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

HttpClient::HttpClient(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::Create(const ClientOptions& options) {
  const auto url = ParseServer(options.server);
  if (!url) return url.error();
  const bool has_secrets = !options.token.empty() || !options.headers.empty();
  if (has_secrets && !url->https && !options.plaintext_token && !IsThisMachine(url->host)) {
    return Error{ErrorCode::kInvalidOptions,
                 "refusing to send the " +
                     std::string(options.token.empty() ? "headers" : "token") + " unencrypted to " +
                     options.server + "; use https"};
  }
  auto connection = std::make_unique<Connection>(options, *url);
  if (auto failure = connection->Configure()) {
    return Error{ErrorCode::kInvalidOptions, options.server + ": " + *failure};
  }
  return HttpClient(std::move(connection));
}

void HttpClient::Cancel() { connection_->Cancel(); }

Result<Response> HttpClient::Send(const Request& request) { return Exchange(request, nullptr); }

Result<Response> HttpClient::Stream(const Request& request, const ReceiveBody& receive) {
  return Exchange(request, &receive);
}

Result<Response> HttpClient::Exchange(const Request& request, const ReceiveBody* receive) {
  const ClientOptions& options = connection_->options;
  http::request<http::string_body> sent;
  sent.method_string(request.method);
  sent.target(request.target);
  sent.set(http::field::host, connection_->url.authority);
  sent.set(http::field::user_agent, "sluice");
  if (!options.token.empty()) sent.set(http::field::authorization, "Bearer " + options.token);
  for (const auto& [name, value] : options.headers) sent.insert(name, value);
  for (const auto& [name, value] : request.headers) sent.insert(name, value);
  if (!request.content_type.empty()) {
    sent.set(http::field::content_type, request.content_type);
    sent.body() = request.body;
  }
  sent.prepare_payload();

  http::response_parser<http::string_body> parser;
  parser.header_limit(kMaxHeaderBytes);
  parser.body_limit(options.max_response_bytes);
  parser.skip(request.method == "HEAD");
  if (const auto failure = connection_->Exchange(sent, parser, receive)) {
    return Error{ErrorCode::kStoreUnavailable, options.server + ": " + *failure};
  }
  auto& received = parser.get();
  Response response{.status = static_cast<int>(received.result_int()),
                    .body = std::move(received.body())};
  for (const auto& field : received) {
    response.headers.emplace_back(field.name_string(), field.value());
  }
  return response;
}

}  // namespace sluice::http_client

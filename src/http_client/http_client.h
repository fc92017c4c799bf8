#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

namespace sluice::http_client {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct ClientOptions {
  std::string server{};  ///< "http://127.0.0.1:8080", "https://example.com" or "unix:/path".
  std::string token{};   ///< Sent as a bearer token; empty: none.
  Headers headers{};     ///< Sent with every request. As secret as the token.
  bool plaintext_token = false;    ///< Allows both over http to other machines.
  std::string ca_file{};           ///< PEM; empty: the certificates that the system trusts.
  std::string certificate_file{};  ///< PEM, for servers that ask for one; empty: none.
  std::string key_file{};          ///< PEM; of the certificate.
  Micros connect_timeout = std::chrono::seconds(5);
  Micros timeout = std::chrono::seconds(30);  ///< Between two bytes of a response.
  Micros total_timeout{0};  ///< From connecting to the last byte of a response; 0: no bound.
  std::size_t max_response_bytes = std::size_t{64} << 20;
};

struct Request {
  std::string method = "GET";
  std::string target{};  ///< Path and query, percent-encoded.
  Headers headers{};
  std::string content_type{};  ///< Of the body; empty: there is no body.
  std::string body{};
};

struct Response {
  int status = 0;
  Headers headers{};
  std::string body{};

  /// Returns a header's value by its name in any case; empty: there is none.
  [[nodiscard]] std::string_view Header(std::string_view name) const;
};

/// A client for one server, over HTTP/1.1, on TCP or a Unix socket, or HTTPS with verified
/// certificates. Follows no redirects: the token belongs to one server. Blocks; for one thread at a
/// time, but for Cancel.
class HttpClient {
 public:
  /// Fails with kInvalidOptions: not a URL, a file that can't be used, a token that would be sent
  /// unencrypted.
  static Result<HttpClient> Create(const ClientOptions& options);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  /// Sends a request and reads the response, whatever its status. Fails with kStoreUnavailable if
  /// there is no response; the message names the server and the reason.
  Result<Response> Send(const Request& request);

  /// Receives a part of a body. Returns false to end the response.
  using ReceiveBody = std::function<bool(std::string_view bytes)>;
  /// The same, but the body of a response with a status of 2xx goes to `receive` part by part, as
  /// it arrives and however long it is. A response that `receive` ends is not an error.
  Result<Response> Stream(const Request& request, const ReceiveBody& receive);

  /// Ends the request under way, unless it looks a name up, and fails all later ones at once. From
  /// any thread.
  void Cancel();

 private:
  struct Connection;
  explicit HttpClient(std::unique_ptr<Connection> connection);
  Result<Response> Exchange(const Request& request, const ReceiveBody* receive);

  std::unique_ptr<Connection> connection_;
};

}  // namespace sluice::http_client

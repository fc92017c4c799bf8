#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sluice/result.h>

#include "base/json_reader.h"
#include "http_client/http_client.h"

namespace sluice::app {

/// Returns a text as a part of a path or a query.
[[nodiscard]] std::string PercentEncoded(std::string_view text);

/// The server that a command talks to, as flags name it.
struct RemoteOptions {
  std::string server = "http://127.0.0.1:8080";
  std::string token_file{};  ///< Empty: SLUICE_ADMIN_TOKEN, or no token.
  std::string ca_file{};
  std::string certificate_file{};
  std::string key_file{};
  bool plaintext_token = false;
  bool json = false;  ///< Print the server's JSON instead of text.
};

/// A server's administrative interface. Prints errors to standard error.
class Remote {
 public:
  /// Nothing: the options can't be used.
  static std::optional<Remote> Create(const RemoteOptions& options);

  /// Sends a request and returns the response, whatever its status; nothing: there was none.
  std::optional<http_client::Response> Send(const http_client::Request& request);
  /// The same, for requests that must succeed: other statuses than 2xx are printed as errors.
  std::optional<http_client::Response> SendSuccessfully(const http_client::Request& request);
  /// The same for a response whose body is received as it arrives.
  std::optional<http_client::Response> StreamSuccessfully(
      const http_client::Request& request, const http_client::HttpClient::ReceiveBody& receive);

 private:
  explicit Remote(http_client::HttpClient client) : client_(std::move(client)) {}
  static std::optional<http_client::Response> PrintError(Result<http_client::Response> response);
  static std::optional<http_client::Response> PrintFailure(
      std::optional<http_client::Response> response);

  http_client::HttpClient client_;
};

/// Prints a problem body (RFC 9457) to standard error: its detail, its errors with their positions
/// in `file`, and its difference.
void PrintProblem(const http_client::Response& response, std::string_view file = {});

/// Prints the body of a response to standard output, with a line break at its end.
void PrintBody(const http_client::Response& response);

/// Returns a member of an object as text: a string as it is, a number as it is written, null and a
/// missing one as "".
[[nodiscard]] std::string MemberText(const JsonValue& object, std::string_view name);

}  // namespace sluice::app

#include "http_client/http_client.h"

#include <algorithm>
#include <optional>

#include <httplib.h>

#include "base/ascii.h"
#include "base/network.h"

namespace sluice::http_client {
namespace {

struct ServerUrl {
  bool https = false;
  std::string host{};  ///< Without brackets.
};

Error InvalidServer(const std::string& server) {
  return {ErrorCode::kInvalidOptions,
          "server: expected http://HOST[:PORT] or https://HOST[:PORT], found '" + server + "'"};
}

Result<ServerUrl> ParseServer(const std::string& server) {
  ServerUrl url;
  std::string_view rest = server;
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
  if (rest.front() == '[') {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return InvalidServer(server);
    url.host = rest.substr(1, end - 1);
  } else {
    url.host = rest.substr(0, rest.find(':'));
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

std::string Describe(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
      return "can't connect";
    case httplib::Error::ConnectionTimeout:
      return "timeout while connecting";
    case httplib::Error::Read:
      return "the connection ended, or there was no response in time";
    case httplib::Error::Write:
      return "the connection ended while the request was sent";
    case httplib::Error::SSLConnection:
      return "TLS handshake failed";
    case httplib::Error::SSLLoadingCerts:
      return "the certificates to trust can't be read";
    case httplib::Error::SSLServerVerification:
      return "the server's certificate is not trusted";
    default:
      return "no response: " + httplib::to_string(error);
  }
}

}  // namespace

struct HttpClient::Connection {
  explicit Connection(const ClientOptions& its_options)
      : options(its_options),
        client(options.certificate_file.empty()
                   ? httplib::Client(options.server)
                   : httplib::Client(options.server, options.certificate_file, options.key_file)) {}

  ClientOptions options;
  httplib::Client client;
};

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
  if (!options.token.empty() && !url->https && !options.plaintext_token &&
      !IsThisMachine(url->host)) {
    return Error{ErrorCode::kInvalidOptions,
                 "refusing to send the token unencrypted to " + options.server + "; use https"};
  }
  auto connection = std::make_unique<Connection>(options);
  httplib::Client& client = connection->client;
  if (!client.is_valid()) {
    return Error{ErrorCode::kInvalidOptions,
                 options.server + ": can't be used; check the address and the certificate files"};
  }
  client.set_follow_location(false);
  client.set_keep_alive(true);
  client.set_connection_timeout(options.connect_timeout);
  client.set_read_timeout(options.timeout);
  client.set_write_timeout(options.timeout);
  if (!options.token.empty()) client.set_bearer_token_auth(options.token);
  if (url->https) {
    client.enable_server_certificate_verification(true);
    if (!options.ca_file.empty()) client.set_ca_cert_path(options.ca_file);
  }
  return HttpClient(std::move(connection));
}

Result<Response> HttpClient::Send(const Request& request) { return Exchange(request, nullptr); }

Result<Response> HttpClient::Stream(const Request& request, const ReceiveBody& receive) {
  return Exchange(request, &receive);
}

Result<Response> HttpClient::Exchange(const Request& request, const ReceiveBody* receive) {
  httplib::Request sent;
  sent.method = request.method;
  sent.path = request.target;
  for (const auto& [name, value] : request.headers) sent.headers.emplace(name, value);
  if (!request.content_type.empty()) {
    sent.headers.emplace("Content-Type", request.content_type);
    sent.body = request.body;
  }
  Response response;
  bool too_large = false;
  bool ended = false;
  const std::size_t most = connection_->options.max_response_bytes;
  const auto take_head = [&response](const httplib::Response& head) {
    response.status = head.status;
    response.headers.clear();
    for (const auto& [name, value] : head.headers) response.headers.emplace_back(name, value);
    return true;
  };
  sent.response_handler = take_head;  // Not called for a response without a body.
  sent.content_receiver = [&](const char* data, std::size_t size, std::uint64_t /*offset*/,
                              std::uint64_t /*total*/) {
    if (receive != nullptr && response.status / 100 == 2) {
      ended = !(*receive)({data, size});
      return !ended;
    }
    too_large = size > most - response.body.size();
    if (!too_large) response.body.append(data, size);
    return !too_large;
  };
  const httplib::Result result = connection_->client.send(sent);
  if (!result && !ended) {
    const std::string why = too_large
                                ? "the response has more than " + std::to_string(most) + " bytes"
                                : Describe(result.error());
    return Error{ErrorCode::kStoreUnavailable, connection_->options.server + ": " + why};
  }
  if (result) take_head(*result);
  return response;
}

}  // namespace sluice::http_client

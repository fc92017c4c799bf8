#include "healthcheck_command.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include "local_url.h"
#include "serve_command.h"
#include "text_table.h"

namespace sluice::app {
namespace {

constexpr int kHealthy = 0;
constexpr int kUnhealthy = 1;
constexpr int kOk = 200;
constexpr std::size_t kMaxResponseBytes = std::size_t{64} << 10;

Result<std::string> ServerOf(const HealthcheckOptions& options) {
  if (!options.remote.server.empty()) return options.remote.server;
  const auto config = ReadServerConfig(options.config, {});
  if (!config) {
    return Error{config.error().code, "invalid settings:\n" + config.error().message};
  }
  return ProbeUrl(*config);
}

int Fail(const std::string& message) {
  std::fprintf(stderr, "sluice healthcheck: %s\n", message.c_str());
  return kUnhealthy;
}

// The lines of the response, without control characters: they are from another process.
std::string Lines(std::string_view body) {
  std::string text;
  while (!body.empty()) {
    const std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(body.size(), line.size() + 1));
    text.append("  ").append(Shown(std::string(line))).append("\n");
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace

Result<std::string> ProbeUrl(const settings::Config& config) {
  for (const auto* listener : {&config.admin.listener, &config.http.listener}) {
    if (listener->listen.empty()) continue;
    const auto address = net::ParseListenAddress(listener->listen.front());
    if (!address) return address.error();
    if (!address->is_unix() && address->port == 0) {
      return Error{ErrorCode::kInvalidOptions,
                   "the listener is on any free port; name it with --server"};
    }
    return LocalUrl("http", *address);
  }
  return Error{ErrorCode::kInvalidOptions,
               "the settings have no HTTP listener without TLS; name one with --server"};
}

int Healthcheck(const HealthcheckOptions& options) {
  const auto server = ServerOf(options);
  if (!server) return Fail(server.error().message);
  auto client =
      http_client::HttpClient::Create({.server = *server,
                                       .ca_file = options.remote.ca_file,
                                       .certificate_file = options.remote.certificate_file,
                                       .key_file = options.remote.key_file,
                                       .connect_timeout = options.timeout,
                                       .timeout = options.timeout,
                                       .max_response_bytes = kMaxResponseBytes});
  if (!client) return Fail(client.error().message);
  const auto response = client->Send({.target = options.live ? "/livez" : "/readyz?verbose"});
  if (!response) return Fail(response.error().message);
  if (response->status != kOk) {
    return Fail(*server + (options.live ? ": not live" : ": not ready") + ", status " +
                std::to_string(response->status) + "\n" + Lines(response->body));
  }
  std::printf("%s: %s\n", server->c_str(), options.live ? "live" : "ready");
  return kHealthy;
}

}  // namespace sluice::app

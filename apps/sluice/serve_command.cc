#include "serve_command.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "net/address.h"
#include "server/config.h"
#include "server/server.h"

namespace sluice::app {
namespace {

constexpr int kWrongSettings = 2;
constexpr int kStuck = 1;

// What a client on this machine would use to get there.
std::string UrlOf(std::string_view scheme, const net::ListenAddress& address) {
  if (address.is_unix()) return net::ToText(address);
  net::ListenAddress reached = address;
  if (reached.host.empty() || reached.host == "0.0.0.0" || reached.host == "::") {
    reached.host = "127.0.0.1";
  }
  return std::string(scheme) + "://" + net::ToText(reached);
}

// Empty: there is none for curl.
std::string UrlToTry(const server::Server::Addresses& at) {
  for (const net::ListenAddress& address : at.http) {
    if (!address.is_unix()) return UrlOf("http", address);
  }
  for (const net::ListenAddress& address : at.http_tls) {
    if (!address.is_unix()) return UrlOf("https", address);
  }
  return {};
}

void Welcome(const server::Server& server, const server::Config& config) {
  const server::Server::Addresses& at = server.addresses();
  const auto print_http = [](const char* name, const std::string& url, bool is_unix) {
    std::printf("%-16s %s\n", name, url.c_str());
    if (!is_unix) std::printf("metrics          %s/metrics\n", url.c_str());
  };
  for (const net::ListenAddress& address : at.http) {
    print_http("HTTP", UrlOf("http", address), address.is_unix());
  }
  for (const net::ListenAddress& address : at.http_tls) {
    print_http("HTTPS", UrlOf("https", address), address.is_unix());
  }
  for (const net::ListenAddress& address : at.resp) {
    std::printf("Redis protocol   %s\n", UrlOf("redis", address).c_str());
  }
  for (const net::ListenAddress& address : at.resp_tls) {
    std::printf("Redis protocol   %s\n", UrlOf("rediss", address).c_str());
  }
  for (const net::ListenAddress& address : at.grpc) {
    std::printf("gRPC             %s\n", UrlOf("grpc", address).c_str());
  }
  for (const net::ListenAddress& address : at.grpc_tls) {
    std::printf("gRPC             %s\n", UrlOf("grpcs", address).c_str());
  }
  std::printf("rules            %s\n", config.rules.empty()
                                           ? "the examples (--rules FILE for yours)"
                                           : config.rules.c_str());
  const std::string url = UrlToTry(at);
  if (!url.empty()) {
    std::printf("\nTry it:\n  curl -i -H 'X-API-Key: demo-key' %s/api/ping\n", url.c_str());
  }
  std::fflush(stdout);
}

}  // namespace

int Serve(const ServeOptions& options) {
  const char* const file = std::getenv("SLUICE_CONFIG");  // NOLINT(concurrency-mt-unsafe)
  server::ConfigSources sources;
  sources.file = options.config.empty() && file != nullptr ? file : options.config;
  sources.environment = [](const char* name) {
    return static_cast<const char*>(std::getenv(name));  // NOLINT(concurrency-mt-unsafe)
  };
  sources.flags = options.settings;
  auto config = server::ReadConfig(sources);
  if (!config) {
    std::fprintf(stderr, "sluice serve: wrong settings:\n%s\n", config.error().message.c_str());
    return kWrongSettings;
  }
  if (options.print_config) {
    std::fputs(server::PrintConfig(*config).c_str(), stdout);
    return 0;
  }
  auto server = server::Server::Start(*config);
  if (!server) {
    std::fprintf(stderr, "sluice serve: %s\n", server.error().message.c_str());
    return 1;
  }
  // Whoever reads the addresses may send a signal at once.
  const auto ended = (*server)->Run([&] { Welcome(**server, *config); });
  if (ended == server::Server::Ended::kWell) return 0;
  std::fflush(nullptr);
  std::_Exit(kStuck);
}

}  // namespace sluice::app

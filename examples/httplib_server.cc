// An HTTP server with cpp-httplib that limits its callers before any handler runs.
//
//     example_httplib_server [port] [rule file] [trusted proxy]...

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <httplib.h>

#include <sluice/sluice.h>

namespace {

constexpr const char* kRules = R"(
rules:
  - { id: hello, match: { endpoint: /hello }, limit: 5 per minute }
  - { id: everybody, limit: 100/s }
)";

sluice::HttpVerdict Ask(sluice::HttpFilter& filter, const httplib::Request& request) {
  std::vector<sluice::HttpField> headers;
  for (const auto& [name, value] : request.headers) headers.push_back({name, value});
  // cpp-httplib also adds headers of its own with the peer's address; only this one is reliable.
  return filter.Check({.method = request.method,
                       .target = request.target,
                       .headers = headers,
                       .peer = request.remote_addr});
}

}  // namespace

int main(int argc, char** argv) {
  const int port = argc > 1 ? std::atoi(argv[1]) : 8000;
  auto limiter = sluice::Limiter::InMemory();
  auto rules = argc > 2 ? sluice::Rules::FromFile(argv[2]) : sluice::Rules::FromText(kRules);
  if (!limiter || !rules) {
    std::fprintf(stderr, "%s\n", (limiter ? rules.error() : limiter.error()).message.c_str());
    return 1;
  }
  sluice::HttpFilterOptions options;
  for (int i = 3; i < argc; ++i) options.trusted_proxies.emplace_back(argv[i]);
  auto filter = sluice::HttpFilter::Make(*limiter, *rules, options);
  if (!filter) {
    std::fprintf(stderr, "%s\n", filter.error().message.c_str());
    return 1;
  }

  httplib::Server server;
  server.set_pre_routing_handler([&](const httplib::Request& request, httplib::Response& response) {
    const sluice::HttpVerdict verdict = Ask(*filter, request);
    for (const auto& [name, value] : verdict.headers) response.set_header(name, value);
    if (verdict.passes) return httplib::Server::HandlerResponse::Unhandled;
    response.status = verdict.status;
    response.set_content(verdict.body, verdict.content_type);
    return httplib::Server::HandlerResponse::Handled;
  });
  server.Get("/hello", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("hello\n", "text/plain");
  });

  const bool bound = port != 0 ? server.bind_to_port("127.0.0.1", port) : false;
  const int chosen = bound ? port : server.bind_to_any_port("127.0.0.1");
  if (chosen <= 0) return 1;
  std::printf("listening on 127.0.0.1:%d\n", chosen);
  std::fflush(stdout);
  return server.listen_after_bind() ? 0 : 1;
}

// An HTTP server with Boost.Beast that limits its callers. A thread for each connection keeps it
// short; the filter may be called from any number of threads.
//
//     example_beast_server [port] [rule file] [trusted proxy]...

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio.hpp>
#include <boost/beast.hpp>

#include <sluice/sluice.h>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

constexpr const char* kRules = R"(
rules:
  - { id: hello, match: { endpoint: /hello }, limit: 5 per minute }
  - { id: everybody, limit: 100/s }
)";

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

sluice::HttpVerdict Ask(sluice::HttpFilter& filter, const Request& request,
                        const std::string& peer) {
  std::vector<sluice::HttpField> headers;
  for (const auto& field : request) {
    headers.push_back({View(field.name_string()), View(field.value())});
  }
  return filter.Check({.method = View(request.method_string()),
                       .target = View(request.target()),
                       .headers = headers,
                       .peer = peer});
}

// The work of the program itself.
void Handle(const Request& request, Response& response) {
  response.set(http::field::content_type, "text/plain");
  if (request.target() == "/hello") {
    response.body() = "hello\n";
  } else {
    response.result(http::status::not_found);
    response.body() = "nothing here\n";
  }
}

Response Answer(sluice::HttpFilter& filter, const Request& request, const std::string& peer) {
  const sluice::HttpVerdict verdict = Ask(filter, request, peer);
  Response response(http::status::ok, request.version());
  response.keep_alive(request.keep_alive());
  for (const auto& [name, value] : verdict.headers) response.set(name, value);
  if (verdict.passes) {
    Handle(request, response);
  } else {
    response.result(static_cast<unsigned>(verdict.status));
    response.set(http::field::content_type, verdict.content_type);
    response.body() = verdict.body;
  }
  filter.Finish(verdict);
  response.prepare_payload();
  return response;
}

void Serve(sluice::HttpFilter& filter, tcp::socket socket) {
  beast::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  const std::string peer = endpoint.address().to_string();
  beast::flat_buffer buffer;
  while (!error) {
    Request request;
    http::read(socket, buffer, request, error);
    if (error) break;
    const Response response = Answer(filter, request, peer);
    http::write(socket, response, error);
    if (!response.keep_alive()) break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto port = static_cast<unsigned short>(argc > 1 ? std::atoi(argv[1]) : 8000);
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

  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
  std::printf("listening on 127.0.0.1:%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  for (;;) {
    std::thread([&filter, socket = acceptor.accept()]() mutable {
      Serve(*filter, std::move(socket));
    }).detach();
  }
}

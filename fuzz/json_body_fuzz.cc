// Any bytes are sent as the body of a request: it is answered with a status that is documented and
// JSON that can be read; what is refused is refused alike in pieces; and the connection goes on.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <simdjson.h>

#include "api/testing/http_server.h"

namespace {

using namespace sluice::api;
using namespace sluice::api::testing;

constexpr std::string_view kRules = R"(
rules:
  - { id: calls, algorithm: fixed_window, limit: 3, window: 60 }
  - { id: tokens, match: { user: "*" }, limits: [{ name: t, limit: 100/minute, type: tokens }] }
  - { id: slots, match: { model: "*" }, algorithm: concurrency, limit: 2 }
)";

constexpr std::array<std::string_view, 9> kRequests = {
    "POST /api/v1/rate-limit/check",
    "POST /api/v1/rate-limit/acquire",
    "POST /api/v1/rate-limit/release",
    "POST /api/v1/rate-limit/renew",
    "POST /api/v1/rate-limit/settle",
    "POST /api/v1/rate-limit/cancel",
    "POST /admin/grant",
    "PUT /admin/enforcement",
    "PUT /admin/log-level",
};

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

struct Server {
  Server() {
    const auto report = LoadRules(services.live, "rules.yaml", kRules, services.now());
    Require(report.outcome == sluice::LoadOutcome::kActivated, "the rules are wrong");
  }

  std::string Send(std::string_view bytes, std::size_t piece) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
      session.Receive(bytes.substr(0, piece));
    }
    return std::exchange(session.output(), {});
  }

  DelayedStore store;
  FakeServices services{store};
  HttpLoop loop{services, {}};
  FakeTransport transport;
  HttpSession session{loop, transport, {.address = "127.0.0.1", .is_local = true}};
};

void CheckAnswer(const std::string& answer, simdjson::dom::parser& parser) {
  const std::size_t end = answer.find("\r\n\r\n");
  Require(answer.starts_with("HTTP/1.1 ") && end != std::string::npos, "no answer");
  const int status = std::atoi(answer.c_str() + 9);
  Require(status == 200 || status == 400 || status == 404 || status == 429 || status == 503,
          "a status that nobody expects");
  const Heard heard{
      .status = status, .head = answer.substr(0, end + 2), .body = answer.substr(end + 4)};
  Require(heard.Header("Content-Length") == std::to_string(heard.body.size()),
          "a length that is not the body's");
  simdjson::dom::object object;
  Require(parser.parse(heard.body).get(object) == simdjson::SUCCESS, "an answer that is no JSON");
  std::string_view code;
  Require(status != 400 || object["code"].get(code) == simdjson::SUCCESS, "refused without a code");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static simdjson::dom::parser parser;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string request(kRequests[data[0] % kRequests.size()]);
  request +=
      " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  request += body;

  Server server;
  const std::string answer = server.Send(request, request.size());
  CheckAnswer(answer, parser);
  if (answer.starts_with("HTTP/1.1 400")) {
    Require(server.Send(request, 7) == answer, "in pieces it is refused in another way");
  }
  Require(server.Send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", 100)
              .starts_with("HTTP/1.1 200"),
          "the connection does not go on");
  return 0;
}

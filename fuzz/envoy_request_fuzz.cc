// Any bytes are read as a RateLimitRequest, as protobuf and as JSON: they are refused with a
// reason, or answered with one status for each descriptor, in a message that can be read.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <simdjson.h>

#include "api/envoy/request.h"
#include "api/testing/envoy_caller.h"

namespace {

using namespace sluice::api;
using namespace sluice::api::testing;

constexpr std::string_view kFile = R"(
domain: d
descriptors:
  - { key: a, rate_limit: { unit: minute, requests_per_unit: 3 } }
  - { key: b, value: "x*", rate_limit: { unit: hour, requests_per_unit: 0 } }
  - { key: c, quota_mode: true, rate_limit: { unit: second, requests_per_unit: 5 } }
  - { key: u, rate_limit: { unlimited: true } }
)";
constexpr std::string_view kRules =
    "attributes: [key]\nrules: [{ id: calls, per: key, limit: 3/m }]";

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

struct Server {
  Server() {
    const sluice::FileContent file{.path = "d.yaml", .content = std::string(kFile)};
    const auto report = LoadConfig(services.envoy_config, {&file, 1}, {}, services.now());
    Require(report.outcome == sluice::LoadOutcome::kActivated, "the file is wrong");
    LoadRules(services.live, "rules.yaml", kRules, services.now());
    services.envoy_state.emplace(services.envoy_config,
                                 EnvoyOptions{.rule_domains = {"*"}, .ratelimit_headers = true});
  }

  DelayedStore store;
  FakeServices services{store};
};

void AskAsProtobuf(Server& server, std::string_view message) {
  EnvoyRequest request;
  const bool is_right = ReadEnvoyRequest(message, request);
  EnvoyCaller caller(server.services);
  const HeardReply reply = caller.Call(message);
  if (reply.status != sluice::wire::GrpcStatus::kOk) {
    return Require(!reply.error.empty(), "refused without a reason");
  }
  Require(is_right, "answered though it is malformed");
  Require(reply.statuses.size() == request.descriptors.size(), "not one status a descriptor");
  Require(reply.code == 1 || reply.code == 2, "no code");
}

void AskAsJson(Server& server, std::string_view body) {
  static simdjson::dom::parser parser;
  HttpLoop loop(server.services, {});
  FakeTransport transport;
  HttpSession session(loop, transport, {.address = "127.0.0.1", .is_local = true});
  session.Receive("POST /json HTTP/1.1\r\nHost: h\r\nContent-Length: " +
                  std::to_string(body.size()) + "\r\n\r\n");
  session.Receive(body);
  const std::string answer = std::exchange(session.output(), {});
  const std::size_t end = answer.find("\r\n\r\n");
  Require(answer.starts_with("HTTP/1.1 ") && end != std::string::npos, "no answer");
  const int status = std::atoi(answer.c_str() + 9);
  Require(status == 200 || status == 400 || status == 429, "a status that nobody expects");
  simdjson::dom::object object;
  Require(parser.parse(answer.substr(end + 4)).get(object) == simdjson::SUCCESS, "no JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Server server;
  if (bytes.starts_with("{")) {
    AskAsJson(server, bytes);
  } else {
    AskAsProtobuf(server, bytes);
  }
  return 0;
}

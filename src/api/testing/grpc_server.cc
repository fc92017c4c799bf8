#include "api/testing/grpc_server.h"

#include <algorithm>
#include <array>

namespace sluice::api::testing {
namespace {

const Limit& Five() {
  static const Limit five = *Limit::FixedWindow({.limit = 5, .window = std::chrono::hours(1)});
  return five;
}

void Echo(GrpcCall& call, std::string_view message) { call.reply = message; }

void Fail(GrpcCall& call, std::string_view /*message*/) {
  call.Refuse(wire::GrpcStatus::kInvalidArgument, "100% wrong");
}

void AskLimit(GrpcCall& call, std::string_view message) {
  limiter::CheckRequest& check = call.Add().check;
  check.AddLimit({.scope = "test", .tag = message}, Five(), 1);
  last_timeout = check.timeout;
  call.answer = [](GrpcCall& asked) { asked.reply = asked.part(0).check.allowed ? "yes" : "no"; };
}

void AskMany(GrpcCall& call, std::string_view message) {
  for (const char& c : message) {
    call.Add().check.AddLimit({.scope = "test", .tag = {&c, 1}}, Five(), 1);
  }
  call.on_decided = [](CheckCall::Part& part) { part.text = part.check.allowed ? "y" : "n"; };
  call.answer = [](GrpcCall& asked) {
    for (std::size_t i = 0; i < asked.size(); ++i) asked.reply += asked.part(i).text;
  };
}

void Talk(GrpcCall& call, std::string_view message) {
  call.reply = message;
  if (message == "stop") call.Refuse(wire::GrpcStatus::kAborted, "as you wish");
}

constexpr auto kMethods = std::to_array<GrpcMethod>({
    {"/test/Echo", GrpcKind::kUnary, Echo, nullptr},
    {"/test/Fail", GrpcKind::kUnary, Fail, nullptr},
    {"/test/Limit", GrpcKind::kUnary, AskLimit, nullptr},
    {"/test/Many", GrpcKind::kUnary, AskMany, nullptr},
    {"/test/Talk", GrpcKind::kDialogue, Talk, nullptr},
});

}  // namespace

const GrpcMethod* FindTestMethod(std::string_view path) {
  const auto* const found = std::ranges::find(kMethods, path, &GrpcMethod::path);
  return found != kMethods.end() ? found : FindGrpcMethod(path);
}

}  // namespace sluice::api::testing

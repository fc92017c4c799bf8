// grpc.health.v1.Health: what load balancers and orchestrators ask.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/grpc/loop.h"
#include "api/grpc/methods.h"
#include "wire/proto_reader.h"
#include "wire/proto_writer.h"

namespace sluice::api {
namespace {

using wire::GrpcStatus;

// Of HealthCheckResponse.
enum class Serving : std::uint8_t { kServing = 1, kNotServing = 2, kServiceUnknown = 3 };

// The service name of envoyproxy/ratelimit, which probes made for it ask for.
constexpr std::string_view kNameOfOriginal = "ratelimit";

// The whole server, or a service that has methods here.
bool IsKnown(std::string_view service) {
  return service.empty() || service == kNameOfOriginal ||
         std::ranges::any_of(GrpcMethods(), [&](const GrpcMethod& method) {
           const std::string_view path = method.path.substr(1);
           return path.size() > service.size() && path.starts_with(service) &&
                  path[service.size()] == '/';
         });
}

Serving HealthOf(GrpcCall& call, std::string_view service) {
  if (!IsKnown(service)) return Serving::kServiceUnknown;
  return call.loop.services().admin().CheckHealth().ready ? Serving::kServing
                                                          : Serving::kNotServing;
}

void WriteReply(GrpcCall& call, Serving serving) {
  call.reply.clear();
  wire::ProtoWriter(call.reply).Uint(1, static_cast<std::uint64_t>(serving));
}

// Of HealthCheckRequest. False: it is refused.
bool ReadService(GrpcCall& call, std::string_view message, std::string_view& service) {
  wire::ProtoReader reader(message);
  while (reader.Next()) {
    if (reader.field() == 1) service = reader.Bytes();
  }
  if (!reader.ok()) {
    call.Refuse(GrpcStatus::kInvalidArgument, "the message is not a HealthCheckRequest");
  }
  return reader.ok();
}

}  // namespace

void AskHealthCheck(GrpcCall& call, std::string_view message) {
  std::string_view service;
  if (!ReadService(call, message, service)) return;
  const Serving serving = HealthOf(call, service);
  if (serving == Serving::kServiceUnknown) {
    return call.Refuse(GrpcStatus::kNotFound, "unknown service");
  }
  WriteReply(call, serving);
}

void AskHealthWatch(GrpcCall& call, std::string_view message) {
  std::string_view service;
  if (!ReadService(call, message, service)) return;
  call.subject = service;
}

void PollHealth(GrpcCall& call) { WriteReply(call, HealthOf(call, call.subject)); }

}  // namespace sluice::api

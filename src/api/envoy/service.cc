// envoy.service.ratelimit.v3.RateLimitService: what Envoy asks of each call.

#include "api/envoy/check.h"
#include "api/grpc/loop.h"
#include "api/grpc/methods.h"
#include "wire/proto_writer.h"

namespace sluice::api {
namespace {

using wire::GrpcStatus;
using wire::ProtoWriter;

void WriteStatus(const EnvoyStatus& status, ProtoWriter& writer) {
  const auto message = writer.Begin(2);
  writer.Uint(1, static_cast<std::uint64_t>(status.code));
  if (status.has_limit) {
    const auto limit = writer.Begin(2);
    writer.Uint(1, status.requests_per_unit);
    writer.Uint(2, static_cast<std::uint64_t>(status.unit));
    writer.Bytes(3, status.name);
    writer.End(limit);
  }
  writer.Uint(3, status.remaining);
  if (status.has_limit) {
    const auto duration = writer.Begin(4);
    writer.Uint(1, static_cast<std::uint64_t>(status.reset_seconds));
    writer.End(duration);
  }
  writer.End(message);
}

void WriteReply(GrpcCall& call, EnvoyCheck& check) {
  ProtoWriter writer(call.reply);
  writer.Uint(1, static_cast<std::uint64_t>(check.code()));
  for (std::size_t i = 0; i < check.size(); ++i) WriteStatus(check.StatusOf(i), writer);
  const EnvoyHeaders& headers =
      check.MakeHeaders(check.has_check() ? &call.part(0).check : nullptr);
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const auto header = writer.Begin(3);
    writer.Bytes(1, headers.name(i)).Bytes(2, headers.value(i));
    writer.End(header);
  }
  // Readers merge repeated fields of this type.
  for (std::size_t i = 0; i < check.size(); ++i) writer.Bytes(6, check.MetadataOf(i));
}

EnvoyCheck& CheckOf(GrpcCall& call) { return static_cast<EnvoyCheck&>(*call.scratch); }

void Answer(GrpcCall& call) {
  EnvoyCheck& check = CheckOf(call);
  if (!check.error().empty()) return call.Refuse(GrpcStatus::kInvalidArgument, check.error());
  WriteReply(call, check);
}

}  // namespace

void AskShouldRateLimit(GrpcCall& call, std::string_view message) {
  ServerServices& services = call.loop.services();
  EnvoyState* const state = services.envoy();
  if (state == nullptr) {
    return call.Refuse(GrpcStatus::kUnimplemented, "this server has no such service");
  }
  // No other service keeps anything with its calls.
  if (call.scratch == nullptr) call.scratch = std::make_unique<EnvoyCheck>();
  EnvoyCheck& check = CheckOf(call);
  if (!ReadEnvoyRequest(message, check.request)) {
    return call.Refuse(GrpcStatus::kInvalidArgument, "the message is no RateLimitRequest");
  }
  if (const auto error = check.Match(*state, services, *call.peer, Protocol::kGrpc);
      !error.empty()) {
    return call.Refuse(GrpcStatus::kInvalidArgument, error);
  }
  if (check.has_check()) check.FillCheck(call.Add().check);
  if (check.has_refund()) check.FillRefund(call.Add().check);
  if (call.size() == 0) {
    services.counters().calls[Protocol::kGrpc][check.outcome_without_limits()].Add();
    return WriteReply(call, check);
  }
  call.on_decided = [](CheckCall::Part& part) { CheckOf(GrpcCallOf(part)).TakeNote(part.check); };
  call.answer = Answer;
}

}  // namespace sluice::api

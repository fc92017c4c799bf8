#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "api/grpc/call.h"
#include "identity/principal.h"

namespace sluice::api {

enum class GrpcKind : std::uint8_t {
  kUnary,  ///< One message, one reply.
  /// A stream both ways: each message gets one reply, at once, in order, until the client ends it
  /// or a reply is a refusal. No checks to the limiter.
  kDialogue,
  /// One message; then a reply whenever it has become another, until either side ends it.
  kWatch,
};

struct GrpcMethod {
  std::string_view path;  ///< "/package.Service/Method"
  GrpcKind kind = GrpcKind::kUnary;
  /// Reads the message, which is good until it returns. Then it either leaves checks and an
  /// `answer`, or writes the reply or refuses at once.
  void (*ask)(GrpcCall& call, std::string_view message) = nullptr;
  /// Of a kWatch: writes `reply` anew. Run after `ask`, then about once a second, and when the
  /// server begins to end; the reply is sent if it differs from the last.
  void (*poll)(GrpcCall& call) = nullptr;
  /// The least role that a caller needs. kChecker: only if the server requires tokens of checks.
  identity::Role role = identity::Role::kNone;
};

/// All methods of all services; sorted by path.
[[nodiscard]] std::span<const GrpcMethod> GrpcMethods();
/// Null: there is none.
[[nodiscard]] const GrpcMethod* FindGrpcMethod(std::string_view path);

// ---- grpc.health.v1 (grpc_health.cc).

void AskHealthCheck(GrpcCall& call, std::string_view message);
void AskHealthWatch(GrpcCall& call, std::string_view message);
void PollHealth(GrpcCall& call);

// ---- envoy.service.ratelimit.v3 (envoy_service.cc).

void AskShouldRateLimit(GrpcCall& call, std::string_view message);

// ---- sluice.v1.Limiter (limiter_service.cc).

void AskLimiterAcquire(GrpcCall& call, std::string_view message);
void AskLimiterBatch(GrpcCall& call, std::string_view message);
void AskLimiterCancel(GrpcCall& call, std::string_view message);
void AskLimiterCheck(GrpcCall& call, std::string_view message);
void AskLimiterExtend(GrpcCall& call, std::string_view message);
void AskLimiterRelease(GrpcCall& call, std::string_view message);
void AskLimiterRenew(GrpcCall& call, std::string_view message);
void AskLimiterSettle(GrpcCall& call, std::string_view message);

// ---- grpc.reflection.v1 and v1alpha, whose messages are the same (grpc_reflection.cc).

void AskReflection(GrpcCall& call, std::string_view message);

}  // namespace sluice::api

#include "api/grpc/methods.h"

#include <algorithm>
#include <array>

namespace sluice::api {
namespace {

constexpr auto kMethods = std::to_array<GrpcMethod>({
    {"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", GrpcKind::kUnary,
     AskShouldRateLimit, nullptr, identity::Role::kChecker},
    {"/grpc.health.v1.Health/Check", GrpcKind::kUnary, AskHealthCheck, nullptr},
    {"/grpc.health.v1.Health/Watch", GrpcKind::kWatch, AskHealthWatch, PollHealth},
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", GrpcKind::kDialogue,
     AskReflection, nullptr},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", GrpcKind::kDialogue,
     AskReflection, nullptr},
    {"/sluice.v1.Limiter/Acquire", GrpcKind::kUnary, AskLimiterAcquire, nullptr,
     identity::Role::kChecker},
    {"/sluice.v1.Limiter/Cancel", GrpcKind::kUnary, AskLimiterCancel, nullptr,
     identity::Role::kChecker},
    {"/sluice.v1.Limiter/Check", GrpcKind::kUnary, AskLimiterCheck, nullptr,
     identity::Role::kChecker},
    {"/sluice.v1.Limiter/CheckBatch", GrpcKind::kUnary, AskLimiterBatch, nullptr,
     identity::Role::kChecker},
    {"/sluice.v1.Limiter/Extend", GrpcKind::kUnary, AskLimiterExtend, nullptr,
     identity::Role::kChecker},
    {"/sluice.v1.Limiter/Release", GrpcKind::kUnary, AskLimiterRelease, nullptr,
     identity::Role::kChecker},
    {"/sluice.v1.Limiter/Renew", GrpcKind::kUnary, AskLimiterRenew, nullptr,
     identity::Role::kChecker},
    {"/sluice.v1.Limiter/Settle", GrpcKind::kUnary, AskLimiterSettle, nullptr,
     identity::Role::kChecker},
});

static_assert(std::ranges::is_sorted(kMethods, {}, &GrpcMethod::path));

}  // namespace

std::span<const GrpcMethod> GrpcMethods() { return kMethods; }

const GrpcMethod* FindGrpcMethod(std::string_view path) {
  const auto* const found = std::ranges::lower_bound(kMethods, path, {}, &GrpcMethod::path);
  return found != kMethods.end() && found->path == path ? found : nullptr;
}

}  // namespace sluice::api

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
});

static_assert(std::ranges::is_sorted(kMethods, {}, &GrpcMethod::path));

}  // namespace

std::span<const GrpcMethod> GrpcMethods() { return kMethods; }

const GrpcMethod* FindGrpcMethod(std::string_view path) {
  const auto* const found = std::ranges::lower_bound(kMethods, path, {}, &GrpcMethod::path);
  return found != kMethods.end() && found->path == path ? found : nullptr;
}

}  // namespace sluice::api

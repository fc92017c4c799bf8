#include "api/grpc_methods.h"

#include <algorithm>
#include <array>

namespace sluice::api {
namespace {

constexpr auto kMethods = std::to_array<GrpcMethod>({
    {"/grpc.health.v1.Health/Check", GrpcKind::kUnary, AskHealthCheck, nullptr},
    {"/grpc.health.v1.Health/Watch", GrpcKind::kWatch, AskHealthWatch, LookAtHealth},
});

static_assert(std::ranges::is_sorted(kMethods, {}, &GrpcMethod::path));

}  // namespace

std::span<const GrpcMethod> GrpcMethods() { return kMethods; }

const GrpcMethod* FindGrpcMethod(std::string_view path) {
  const auto* const found = std::ranges::lower_bound(kMethods, path, {}, &GrpcMethod::path);
  return found != kMethods.end() && found->path == path ? found : nullptr;
}

}  // namespace sluice::api

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "api/grpc/methods.h"
#include "api/testing/grpc_server.h"

namespace sluice::api {
namespace {

using identity::Role;
using testing::GrpcServer;

constexpr int kUnauthenticated = 16;
constexpr int kPermissionDenied = 7;
constexpr int kResourceExhausted = 8;
constexpr std::string_view kRateLimit =
    "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

// The least role for every method.
const std::map<std::string_view, Role>& Expected() {
  static const std::map<std::string_view, Role> expected = {
      {kRateLimit, Role::kChecker},
      {"/grpc.health.v1.Health/Check", Role::kNone},
      {"/grpc.health.v1.Health/Watch", Role::kNone},
      {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Role::kNone},
      {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Role::kNone},
      {"/sluice.v1.Limiter/Acquire", Role::kChecker},
      {"/sluice.v1.Limiter/Cancel", Role::kChecker},
      {"/sluice.v1.Limiter/Check", Role::kChecker},
      {"/sluice.v1.Limiter/CheckBatch", Role::kChecker},
      {"/sluice.v1.Limiter/Extend", Role::kChecker},
      {"/sluice.v1.Limiter/Release", Role::kChecker},
      {"/sluice.v1.Limiter/Renew", Role::kChecker},
      {"/sluice.v1.Limiter/Settle", Role::kChecker},
  };
  return expected;
}

class GrpcRolesTest : public ::testing::Test {
 protected:
  GrpcRolesTest() {
    server_.services.token = "a-bootstrap-token";
    server_.services.access.checks_need_token = true;
    server_.session = std::make_unique<GrpcSession>(
        server_.loop, server_.transport,
        Peer{.address = "192.0.2.7", .ip = ParseAddress("192.0.2.7")});
  }
  int Ask(const std::string& token, std::string_view path = kRateLimit) {
    return server_.Ask(path, "", {{"authorization", "Bearer " + token}}).status();
  }

  GrpcServer server_;
};

TEST_F(GrpcRolesTest, EveryMethodHasAnExpectedRole) {
  for (const GrpcMethod& method : GrpcMethods()) {
    const auto expected = Expected().find(method.path);
    ASSERT_NE(expected, Expected().end()) << method.path << " has no expected role";
    EXPECT_EQ(method.role, expected->second) << method.path;
  }
}

TEST_F(GrpcRolesTest, AChecksMetadataBringsItsToken) {
  const std::string checker = server_.services.AddToken({.role = Role::kChecker});
  EXPECT_EQ(server_.Ask(kRateLimit, "").status(), kUnauthenticated);
  EXPECT_EQ(Ask("wrong"), kUnauthenticated);
  const int status = Ask(checker);
  EXPECT_NE(status, kUnauthenticated);
  EXPECT_NE(status, kPermissionDenied);
  EXPECT_EQ(Ask(checker, "/grpc.health.v1.Health/Check"), 0);
  EXPECT_EQ(Ask("wrong", "/grpc.health.v1.Health/Check"), 0) << "it needs none";
  server_.services.tokens.clear();
  server_.services.LoadTokens();
  EXPECT_EQ(Ask(checker), kUnauthenticated) << "revoked";
}

TEST_F(GrpcRolesTest, WithoutTheSettingChecksNeedNoToken) {
  server_.services.access.checks_need_token = false;
  EXPECT_NE(server_.Ask(kRateLimit, "").status(), kUnauthenticated);
  EXPECT_NE(Ask("wrong"), kUnauthenticated);
}

TEST_F(GrpcRolesTest, GuessesAreBoundedAndEndTheConnection) {
  for (int i = 0; i < identity::TokenGuard::kBurst; ++i) EXPECT_EQ(Ask("wrong"), kUnauthenticated);
  EXPECT_EQ(Ask("wrong"), kResourceExhausted);
  EXPECT_EQ(server_.services.token_failures, identity::TokenGuard::kBurst + 1U);
  EXPECT_FALSE(server_.client.goodbyes().empty()) << "the connection ends";
}

}  // namespace
}  // namespace sluice::api

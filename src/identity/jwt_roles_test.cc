#include "identity/jwt_roles.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "identity/testing/jwt_signer.h"

namespace sluice::identity {
namespace {

using testing::JwtSigner;

constexpr WallTime kNow{std::chrono::seconds(1'900'000'000)};

class JwtRolesTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string FileWith(const std::string& name, const std::string& content) {
    const std::string path = folder_ / name;
    std::ofstream(path) << content;
    return path;
  }
  JwtRoleOptions Options() {
    return {.key_files = {FileWith("admin.pem", signer_.PublicPem())},
            .issuer = "https://login.example",
            .audience = "sluice"};
  }
  std::string Token(const std::string& claims, const std::string& iss = "https://login.example",
                    const std::string& aud = "sluice") {
    return signer_.Token(R"({"sub":"alice","exp":1900000300,"iss":")" + iss + R"(","aud":")" + aud +
                         "\"" + claims + "}");
  }
  static Role RoleOf(const JwtRoles& roles, const std::string& token, WallTime now = kNow) {
    const PrincipalPointer found = roles.Find(token, now);
    return found ? found->role : Role::kNone;
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("jwt_roles_" + std::to_string(getpid()));
  JwtSigner signer_ = JwtSigner::Curve();
};

TEST_F(JwtRolesTest, AClaimGivesARole) {
  const auto roles = JwtRoles::Make(Options(), {}).value();
  for (int i = 0; i < 2; ++i) {  // The second time from memory.
    const PrincipalPointer found = roles.Find(Token(R"(,"role":"editor")"), kNow);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->role, Role::kEditor);
    EXPECT_EQ(found->name, "alice");
    EXPECT_EQ(found->authentication, Authentication::kJwt);
  }
  for (const char* const claims :
       {"", R"(,"role":"root")", R"(,"role":"none")", R"(,"role":"")", R"(,"role":["admin"])",
        R"(,"roles":"admin")", R"(,"role":"Admin")", R"(,"role":"viewer","role":"admin")"}) {
    EXPECT_EQ(RoleOf(roles, Token(claims)), Role::kNone) << claims;
  }
}

TEST_F(JwtRolesTest, ValuesOfTheClaimMayBeMapped) {
  JwtRoleOptions options = Options();
  options.claim = "group";
  options.roles = {{"platform", Role::kAdmin}, {"support", Role::kOperator}};
  const auto roles = JwtRoles::Make(options, {}).value();
  EXPECT_EQ(RoleOf(roles, Token(R"(,"group":"platform")")), Role::kAdmin);
  EXPECT_EQ(RoleOf(roles, Token(R"(,"group":"support","role":"admin")")), Role::kOperator);
  EXPECT_EQ(RoleOf(roles, Token(R"(,"group":"admin")")), Role::kNone);
}

TEST_F(JwtRolesTest, AnotherIssuerAudienceKeyOrTimeIsRefused) {
  const auto roles = JwtRoles::Make(Options(), {}).value();
  const std::string right = Token(R"(,"role":"admin")");
  EXPECT_EQ(RoleOf(roles, right), Role::kAdmin);
  EXPECT_EQ(RoleOf(roles, right, kNow + std::chrono::hours(1)), Role::kNone) << "also from memory";
  EXPECT_EQ(RoleOf(roles, Token(R"(,"role":"admin")", "https://evil.example")), Role::kNone);
  EXPECT_EQ(RoleOf(roles, Token(R"(,"role":"admin")", "https://login.example", "shop")),
            Role::kNone);
  const std::string payload =
      R"({"sub":"a","role":"admin","iss":"https://login.example","aud":"sluice")";
  EXPECT_EQ(RoleOf(roles, signer_.Token(payload + "}")), Role::kNone) << "must expire";
  EXPECT_EQ(RoleOf(roles, JwtSigner::Curve().Token(payload + R"(,"exp":1900000300})")),
            Role::kNone);
  const std::string none = testing::Base64Url(R"({"alg":"none"})") + "." +
                           testing::Base64Url(payload + R"(,"exp":1900000300})") + ".";
  EXPECT_EQ(RoleOf(roles, none), Role::kNone);
}

TEST_F(JwtRolesTest, KeysIssuerAndAudienceAreRequired) {
  for (const auto& forget :
       {+[](JwtRoleOptions& options) { options.key_files.clear(); },
        +[](JwtRoleOptions& options) { options.issuer.clear(); },
        +[](JwtRoleOptions& options) { options.audience.clear(); },
        +[](JwtRoleOptions& options) { options.key_files = {"/nowhere/key.pem"}; }}) {
    JwtRoleOptions options = Options();
    forget(options);
    EXPECT_FALSE(JwtRoles::Make(options, {}));
  }
}

TEST_F(JwtRolesTest, AKeyOfEndCustomersIsRefusedInWhateverFormItIs) {
  EXPECT_TRUE(JwtRoles::Make(Options(), {FileWith("other.pem", JwtSigner::Curve().PublicPem())}));
  EXPECT_FALSE(JwtRoles::Make(Options(), {FileWith("same.pem", signer_.PublicPem())}));
  const std::string set =
      R"({"keys":[)" + JwtSigner::Rsa().Jwk("a") + "," + signer_.Jwk("b") + "]}";
  EXPECT_FALSE(JwtRoles::Make(Options(), {FileWith("same.jwks", set)}));
}

}  // namespace
}  // namespace sluice::identity

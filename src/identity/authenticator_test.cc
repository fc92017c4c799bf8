#include "identity/authenticator.h"

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace sluice::identity {
namespace {

using enum TokenVerdict;

constexpr WallTime kNow{std::chrono::seconds(1'900'000'000)};
constexpr std::string_view kBootstrap = "correct-horse-battery";

class AuthenticatorTest : public ::testing::Test {
 protected:
  void Use(std::vector<AccessToken> tokens) {
    sources_.tokens.Load("test", "", kNow, [&]() -> LiveCandidate<TokenSet> {
      return {.value = std::make_shared<const TokenSet>(tokens, sources_.token_uses)};
    });
  }
  Login Check(std::string_view token, std::string_view from = "192.0.2.1",
              Lockout lockout = Lockout::kYes) {
    return authenticator_.Check(token, ParseAddress(from), lockout, kNow);
  }

  SteadyTime steady_now_{std::chrono::hours(1)};
  AccessSources sources_;
  Authenticator authenticator_{sources_, [this] { return steady_now_; }};
};

TEST_F(AuthenticatorTest, TheBootstrapTokenIsAnAdministrators) {
  sources_.bootstrap_token = kBootstrap;
  EXPECT_EQ(Check(kBootstrap).principal, BootstrapPrincipal());
  for (const std::string_view shown :
       {"", "c", "correct-horse-batterz", "correct-horse-battery2"}) {
    const Login login = Check(shown);
    EXPECT_EQ(login.verdict, kWrong) << shown;
    EXPECT_FALSE(login.principal);
  }
}

TEST_F(AuthenticatorTest, WithoutATokenInTheSettingsNothingIsOne) {
  EXPECT_EQ(Check("").verdict, kWrong);
  EXPECT_EQ(Check("anything").verdict, kWrong);
}

TEST_F(AuthenticatorTest, LocalClientsAreTrustedWhileTheSettingsHaveNoCredentials) {
  EXPECT_TRUE(authenticator_.trusts_local());
  EXPECT_FALSE(authenticator_.IsCredential("a proxy's own"));
  AccessToken token{.name = "ci", .role = Role::kViewer};
  const std::string text = GenerateSecret(token);
  Use({token});
  EXPECT_TRUE(authenticator_.trusts_local()) << "the store may be unreachable";
  EXPECT_TRUE(authenticator_.IsCredential(text));
  sources_.bootstrap_token = kBootstrap;
  EXPECT_FALSE(authenticator_.trusts_local());
  EXPECT_TRUE(authenticator_.IsCredential("a guess"));
  sources_.bootstrap_token.clear();
  sources_.AddCertificate("CN=alice", Role::kViewer);
  EXPECT_FALSE(authenticator_.trusts_local());
}

TEST_F(AuthenticatorTest, ACertificateIsKnownByItsWholeSubject) {
  sources_.AddCertificate("CN=alice,O=Example", Role::kEditor);
  const PrincipalPointer found = authenticator_.FindCertificate("CN=alice,O=Example");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->role, Role::kEditor);
  EXPECT_EQ(found->name, "CN=alice,O=Example");
  for (const std::string_view subject : {"", "CN=alice", "CN=alice,O=Example,OU=x", "CN=mallory"}) {
    EXPECT_FALSE(authenticator_.FindCertificate(subject)) << subject;
  }
}

TEST_F(AuthenticatorTest, ARevokedTokenEndsWhatWasLoggedInWithIt) {
  AccessToken token{.name = "ci", .role = Role::kEditor};
  const std::string text = GenerateSecret(token);
  Use({token});
  const Login login = Check(text);
  ASSERT_EQ(login.verdict, kRight);
  EXPECT_EQ(authenticator_.Revalidate(login.principal, kNow), login.principal);
  Use({});
  EXPECT_EQ(Check(text).verdict, kWrong);
  EXPECT_EQ(authenticator_.Revalidate(login.principal, kNow), AnonymousPrincipal());
  EXPECT_EQ(authenticator_.Revalidate(BootstrapPrincipal(), kNow), BootstrapPrincipal());
}

TEST_F(AuthenticatorTest, AnExpiredTokenEndsWhatWasLoggedInWithIt) {
  AccessToken token{.name = "ci", .role = Role::kEditor, .expires_at = kNow + Micros{10}};
  const std::string text = GenerateSecret(token);
  Use({token});
  const Login login = Check(text);
  ASSERT_EQ(login.verdict, kRight);
  EXPECT_EQ(authenticator_.Revalidate(login.principal, kNow + Micros{9}), login.principal);
  EXPECT_EQ(authenticator_.Revalidate(login.principal, kNow + Micros{10}), AnonymousPrincipal());
}

TEST_F(AuthenticatorTest, GuessesOfTokensAreBoundedAndTheOwnerElsewhereIsNotAffected) {
  AccessToken token{.name = "ci", .role = Role::kEditor};
  const std::string text = GenerateSecret(token);
  Use({token});
  const std::string guess = "sluice_" + token.id + "_" + std::string(43, 'A');
  for (int i = 0; i < TokenGuard::kBurst; ++i) EXPECT_EQ(Check(guess).verdict, kWrong);
  EXPECT_EQ(Check(guess).verdict, kLimited);
  EXPECT_EQ(Check(text).verdict, kLimited) << "the address itself is not listened to";
  EXPECT_EQ(Check(text, "192.0.2.2").verdict, kRight);
  for (int i = 0; i < 2 * TokenGuard::kBurst; ++i) {
    EXPECT_NE(Check(guess, "127.0.0.1", Lockout::kNo).verdict, kRight);
  }
  EXPECT_EQ(Check(text, "127.0.0.1", Lockout::kNo).verdict, kRight);
}

}  // namespace
}  // namespace sluice::identity

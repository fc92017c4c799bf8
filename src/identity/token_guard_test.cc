#include "identity/token_guard.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace sluice::identity {
namespace {

using enum TokenVerdict;

constexpr std::string_view kToken = "correct horse battery";

class TokenGuardTest : public ::testing::Test {
 protected:
  TokenVerdict Check(std::string_view shown, std::string_view from,
                     Lockout lockout = Lockout::kYes) {
    return guard_.Check(shown == kToken, from.empty() ? std::nullopt : ParseAddress(from), lockout,
                        now_);
  }
  void Guess(int times, std::string_view from, Lockout lockout = Lockout::kYes) {
    for (int i = 0; i < times; ++i) {
      EXPECT_EQ(Check("guess" + std::to_string(i), from, lockout), kWrong) << i;
    }
  }

  TokenGuard guard_;
  SteadyTime now_{std::chrono::hours(1)};
};

TEST_F(TokenGuardTest, AnAddressWithTooManyGuessesIsLockedOut) {
  Guess(TokenGuard::kBurst, "192.0.2.1");
  EXPECT_EQ(Check("another", "192.0.2.1"), kLimited);
  EXPECT_EQ(Check(kToken, "192.0.2.1"), kLimited);
  EXPECT_EQ(Check(kToken, "192.0.2.2"), kRight) << "others are not affected";
  now_ += TokenGuard::kRefill;
  EXPECT_EQ(Check(kToken, "192.0.2.1"), kRight);
  EXPECT_EQ(Check("another", "192.0.2.1"), kWrong);
  EXPECT_EQ(Check("another", "192.0.2.1"), kLimited);
}

TEST_F(TokenGuardTest, GuessesPerHourAreBounded) {
  int compared = 0;
  for (int second = 0; second < 3600; ++second) {
    for (int i = 0; i < 10; ++i) compared += Check("guess", "192.0.2.1") == kWrong ? 1 : 0;
    now_ += std::chrono::seconds(1);
  }
  EXPECT_LE(compared, TokenGuard::kBurst + 1200);
  EXPECT_GE(compared, 1200);
}

TEST_F(TokenGuardTest, ARightTokenCostsNothing) {
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(Check(kToken, "192.0.2.1"), kRight);
  Guess(TokenGuard::kBurst, "192.0.2.1");
}

TEST_F(TokenGuardTest, WhereOthersShareAnAddressTheRightTokenIsAlwaysAccepted) {
  for (const std::string_view from : {"127.0.0.1", ""}) {
    Guess(TokenGuard::kBurst, from, Lockout::kNo);
    EXPECT_EQ(Check("another", from, Lockout::kNo), kLimited);
    EXPECT_EQ(Check(kToken, from, Lockout::kNo), kRight);
  }
}

TEST_F(TokenGuardTest, ATokenOfALimitedClientNeedNotBeVerified) {
  const auto from = ParseAddress("192.0.2.1");
  Guess(TokenGuard::kBurst - 1, "192.0.2.1");
  EXPECT_FALSE(guard_.IsLimited(from, Lockout::kYes, now_));
  Guess(1, "192.0.2.1");
  EXPECT_TRUE(guard_.IsLimited(from, Lockout::kYes, now_));
  EXPECT_FALSE(guard_.IsLimited(from, Lockout::kNo, now_));
  EXPECT_FALSE(guard_.IsLimited(ParseAddress("192.0.2.2"), Lockout::kYes, now_));
  now_ += TokenGuard::kRefill;
  EXPECT_FALSE(guard_.IsLimited(from, Lockout::kYes, now_));
}

TEST_F(TokenGuardTest, AnIpv6NetworkSharesOneBudgetOfGuesses) {
  Guess(TokenGuard::kBurst - 1, "2001:db8:1:2::1");
  Guess(1, "2001:db8:1:2::2");
  EXPECT_EQ(Check("another", "2001:db8:1:2:ffff::3"), kLimited);
  EXPECT_EQ(Check("another", "2001:db8:1:3::1"), kWrong);
}

TEST_F(TokenGuardTest, ManyAddressesDoNotMakeItForgetTheOneThatGuessesMost) {
  Guess(TokenGuard::kBurst, "192.0.2.1");
  for (std::uint64_t i = 0; i < 2 * TokenGuard::kAddresses; ++i) {
    const Address other{.high = 0x20010DB800000000U + i, .low = 0};
    EXPECT_EQ(guard_.Check(false, other, Lockout::kYes, now_), kWrong);
  }
  EXPECT_EQ(Check("another", "192.0.2.1"), kLimited);
}

}  // namespace
}  // namespace sluice::identity

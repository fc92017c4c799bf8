#include "api/receipt_text.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::api {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr WallTime kNow{seconds(1'900'000'000)};

std::vector<Limit> AllKinds() {
  return {*Limit::TokenBucket({.capacity = 100, .refill = Rate::Per(7, seconds(3))}),
          *Limit::TokenBucket({.capacity = 10,
                               .refill = Rate::PerHour(11),
                               .burst_allowance = 5,
                               .burst_multiplier = 1.5,
                               .refill_interval = seconds(10)}),
          *Limit::LeakyBucket({.capacity = 9, .leak = Rate::PerDay(13)}),
          *Limit::FixedWindow({.limit = 5, .window = seconds(60)}),
          *Limit::FixedWindow({.limit = 5, .anchor = Anchor::kMonth}),
          *Limit::FixedWindow({.limit = 5, .window = seconds(1), .anchor = Anchor::kFirstHit}),
          *Limit::SlidingWindowLog({.limit = 5, .window = seconds(60)}),
          *Limit::SlidingWindowCounter({.limit = 5, .window = seconds(60)}),
          *Limit::Concurrency({.limit = 5})};
}

std::string TextOf(ReceiptSigner& signer) {
  signer.Begin(kNow);
  for (const Limit& limit : AllKinds()) {
    EXPECT_TRUE(signer.Add({.scope = "rule:limit", .tag = std::string_view("a\0b", 3), .rest = "r"},
                           limit,
                           {.amount = 3, .from_grant = 1, .at = kNow, .slot = ~std::uint64_t{0}},
                           {.measured = limit.cap() == 9, .leased = limit.cap() == 5}));
  }
  std::string text;
  signer.Finish(text);
  return text;
}

TEST(ReceiptTextTest, EveryKindOfLimitComesBackAsItWas) {
  ReceiptSigner signer("secret");
  const auto taken = signer.Read(TextOf(signer), kNow + hours(23));
  ASSERT_TRUE(taken);
  const std::vector<Limit> limits = AllKinds();
  ASSERT_EQ(taken->size(), limits.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const TakenLimit& one = (*taken)[i];
    EXPECT_EQ(one.limit, limits[i]) << i;
    EXPECT_EQ(one.scope, "rule:limit");
    EXPECT_EQ(one.tag, std::string("a\0b", 3));
    EXPECT_EQ(one.rest, "r");
    EXPECT_EQ(one.receipt.amount, 3);
    EXPECT_EQ(one.receipt.from_grant, 1);
    EXPECT_EQ(one.receipt.at, kNow);
    EXPECT_EQ(one.receipt.slot, ~std::uint64_t{0});
    EXPECT_EQ(one.measured, limits[i].cap() == 9);
    EXPECT_EQ(one.leased, limits[i].cap() == 5);
    EXPECT_EQ(SettledBy(*taken, one), one.measured);
  }
}

TEST(ReceiptTextTest, OneThatIsDamagedInAnyPlaceIsRefused) {
  ReceiptSigner signer("secret");
  const std::string text = TextOf(signer);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = damaged[i] == 'A' ? 'h' : 'A';
    // The last character may hold bits that stand for nothing.
    if (i + 1 < text.size()) {
      EXPECT_FALSE(signer.Read(damaged, kNow)) << i;
    }
    EXPECT_FALSE(signer.Read(text.substr(0, i), kNow)) << i;
  }
  EXPECT_FALSE(signer.Read(text + "!", kNow));
}

TEST(ReceiptTextTest, OnlyTheSecretItWasMadeWithReadsIt) {
  ReceiptSigner signer("secret");
  ReceiptSigner same("secret");
  ReceiptSigner other("other");
  const std::string text = TextOf(signer);
  EXPECT_TRUE(same.Read(text, kNow));
  EXPECT_FALSE(other.Read(text, kNow));
  ReceiptSigner ours("");
  ReceiptSigner ours_too("");
  EXPECT_TRUE(ours_too.Read(TextOf(ours), kNow)) << "all loops of a process read each other's";
}

TEST(ReceiptTextTest, ItIsGoodForADay) {
  ReceiptSigner signer("secret");
  const std::string text = TextOf(signer);
  EXPECT_TRUE(signer.Read(text, kNow + hours(24)));
  EXPECT_FALSE(signer.Read(text, kNow + hours(24) + Micros{1}));
}

}  // namespace
}  // namespace sluice::api

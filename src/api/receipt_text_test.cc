#include "api/receipt_text.h"

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::api {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr WallTime kIssued{seconds(1'900'000'000)};

std::vector<Limit> AllKinds() {
  return {
      *Limit::TokenBucket({.capacity = 100, .refill = Rate::Per(7, seconds(3))}),
      *Limit::TokenBucket({.capacity = 10,
                           .refill = Rate::PerHour(11),
                           .burst_allowance = 5,
                           .burst_multiplier = 1.5,
                           .refill_interval = seconds(10)}),
      // As a rate its period would be longer than the longest window.
      *Limit::TokenBucket(
          {.capacity = 1, .refill = {1'000'003, kMaxWindow}, .refill_interval = hours(24 * 365)}),
      *Limit::LeakyBucket({.capacity = 9, .leak = Rate::PerDay(13)}),
      *Limit::FixedWindow({.limit = 5, .window = seconds(60)}),
      *Limit::FixedWindow({.limit = 5, .anchor = Anchor::kMonth}),
      *Limit::FixedWindow({.limit = 5, .window = seconds(1), .anchor = Anchor::kFirstHit}),
      *Limit::SlidingWindowLog({.limit = 5, .window = seconds(60)}),
      *Limit::SlidingWindowCounter({.limit = 5, .window = seconds(60)}),
      *Limit::Concurrency({.limit = 5})};
}

std::string TextOf(ReceiptSigner& signer) {
  signer.Begin(kIssued);
  for (const Limit& limit : AllKinds()) {
    signer.Add({.scope = "rule:limit", .tag = std::string_view("a\0b", 3), .rest = "r"}, limit,
               {.amount = 3, .from_grant = 1, .at = kIssued, .slot = ~std::uint64_t{0}},
               {.measured = limit.cap() == 9, .max_settlement = 7 * limit.cap()});
  }
  std::string text;
  signer.Finish(text);
  return text;
}

TEST(ReceiptTextTest, EveryKindOfLimitComesBackAsItWas) {
  ReceiptSigner signer("secret", hours(1));
  const auto read = signer.Read(TextOf(signer));
  ASSERT_TRUE(read);
  const auto* const taken = &read->taken;
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
    EXPECT_EQ(one.receipt.at, kIssued);
    EXPECT_EQ(one.receipt.slot, ~std::uint64_t{0});
    EXPECT_EQ(one.measured, limits[i].cap() == 9);
    EXPECT_EQ(one.max_settlement, 7 * limits[i].cap());
    EXPECT_EQ(SettledBy(*taken, one), one.measured);
  }
}

TEST(ReceiptTextTest, OneThatIsDamagedInAnyPlaceIsRefused) {
  ReceiptSigner signer("secret", hours(1));
  const std::string text = TextOf(signer);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = damaged[i] == 'A' ? 'h' : 'A';
    // The last character may hold bits that stand for nothing.
    if (i + 1 < text.size()) {
      EXPECT_FALSE(signer.Read(damaged)) << i;
    }
    EXPECT_FALSE(signer.Read(text.substr(0, i))) << i;
  }
  EXPECT_FALSE(signer.Read(text + "!"));
}

TEST(ReceiptTextTest, OnlyTheSecretItWasMadeWithReadsIt) {
  ReceiptSigner signer("secret", hours(1));
  ReceiptSigner same("secret", hours(1));
  ReceiptSigner other("other", hours(1));
  const std::string text = TextOf(signer);
  EXPECT_TRUE(same.Read(text));
  EXPECT_FALSE(other.Read(text));
  ReceiptSigner ours("", hours(1));
  ReceiptSigner ours_too("", hours(1));
  EXPECT_TRUE(ours_too.Read(TextOf(ours))) << "all loops of a process read each other's";
}

TEST(ReceiptTextTest, ItSaysWhenItExpires) {
  ReceiptSigner signer("secret", hours(3));
  EXPECT_EQ(signer.Read(TextOf(signer))->expires, kIssued + hours(3));
}

TEST(ReceiptTextTest, AllThatIsEverTakenHasAnIdOfItsOwn) {
  std::set<std::uint64_t> ids;
  ReceiptSigner signer("secret", hours(1));
  ReceiptSigner other("secret", hours(1));
  constexpr std::size_t kReceipts = 100;
  for (std::size_t i = 0; i < kReceipts; ++i) {
    for (ReceiptSigner* one : {&signer, &other}) {
      const auto read = one->Read(TextOf(*one));
      for (const TakenLimit& taken : read->taken) ids.insert(taken.id);
    }
  }
  EXPECT_EQ(ids.size(), 2 * kReceipts * AllKinds().size());
}

}  // namespace
}  // namespace sluice::api

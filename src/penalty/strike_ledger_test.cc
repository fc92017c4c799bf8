#include "penalty/strike_ledger.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::penalty {
namespace {

Strike LedgerStrike(int caller, std::int64_t denials) {
  Strike strike;
  strike.offender.id = "penalty:" + std::to_string(caller);
  strike.denials = denials;
  return strike;
}

TEST(StrikeLedgerTest, AddsUpTheStrikesOfLoops) {
  StrikeLedger ledger;
  StrikeBuffer one;
  one.Add(1, LedgerStrike(1, 3));
  one.Add(2, LedgerStrike(2, 1));
  StrikeBuffer other;
  other.Add(1, LedgerStrike(1, 4));
  other.Drop();
  ledger.Add(one);
  ledger.Add(other);
  EXPECT_EQ(ledger.strikes(), 9U);
  EXPECT_EQ(ledger.dropped(), 1U);
  std::int64_t denials = 0;
  const auto taken = ledger.Take();
  ASSERT_EQ(taken.size(), 2U);
  for (const Strike& strike : taken) denials = std::max(denials, strike.denials);
  EXPECT_EQ(denials, 7);
  EXPECT_TRUE(ledger.empty());
}

TEST(StrikeLedgerTest, HoldsABoundedNumberOfCallersAndTakesTheWorstFirst) {
  StrikeLedger ledger;
  int caller = 0;
  for (int round = 0; round < 20; ++round) {
    StrikeBuffer buffer;
    for (std::size_t i = 0; i < StrikeBuffer::kMaxStrikes; ++i, ++caller) {
      ASSERT_NE(
          buffer.Add(static_cast<std::uint64_t>(caller), LedgerStrike(caller, 1 + caller % 7)),
          nullptr);
    }
    EXPECT_EQ(buffer.Add(1U << 30U, LedgerStrike(-1, 1)), nullptr);
    ledger.Add(buffer);
  }
  EXPECT_GT(ledger.dropped(), 0U);
  std::size_t total = 0;
  std::int64_t least_before = 1000;
  while (!ledger.empty()) {
    const auto taken = ledger.Take();
    EXPECT_LE(taken.size(), StrikeLedger::kMaxTaken);
    std::int64_t least = 1000;
    for (const Strike& strike : taken) {
      EXPECT_LE(strike.denials, least_before);
      least = std::min(least, strike.denials);
    }
    least_before = least;
    total += taken.size();
  }
  EXPECT_EQ(total, StrikeLedger::kMaxCallers);
}

}  // namespace
}  // namespace sluice::penalty

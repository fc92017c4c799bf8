#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "algo/testing/choices.h"
#include "algo/testing/model.h"
#include "algo/testing/single_key.h"

namespace sluice::algo::testing {
namespace {

WallTime At(std::int64_t micros) { return WallTime{Micros{micros}}; }

WallTime AnyTime(Choices& choices) {
  return At(choices.Between(0, kMaxTime.time_since_epoch().count()));
}

/// How long it is until something can change under the limit.
Micros NaturalStep(const LimitNumbers& limit) {
  if (limit.rate_num == 0) return std::max(limit.window, Micros{std::chrono::hours(24)});
  const Integer step = Integer(limit.interval.count()) * limit.rate_den / limit.rate_num;
  return Micros{std::clamp<Integer>(step, 1, kMaxWindow.count()).convert_to<std::int64_t>()};
}

/// Forward, by anything from nothing to a few times what the limit needs to recover.
WallTime LaterThan(WallTime now, const LimitNumbers& limit, Choices& choices) {
  const std::int64_t step = NaturalStep(limit).count();
  const std::int64_t cap = std::min<std::int64_t>(limit.cap, 1000);
  const Integer wide = Integer(step) * cap * 2;
  const std::int64_t far = std::min<Integer>(wide, kMaxWindow.count()).convert_to<std::int64_t>();
  const std::int64_t by = choices.OneOf(
      {std::int64_t{0}, std::int64_t{1}, choices.Between(0, step), step, choices.Between(0, far)});
  return ClampTime(now + Micros{by});
}

/// Forward mostly, else anything a broken clock may do.
WallTime AnyNextTime(WallTime now, const LimitNumbers& limit, Choices& choices) {
  if (!choices.OneIn(4)) return LaterThan(now, limit, choices);
  switch (choices.Below(5)) {
    case 0:
      return ClampTime(now - Micros{choices.Between(0, kClockTolerance.count())});
    case 1:
      return ClampTime(now - kClockTolerance - Micros{choices.Between(0, 2)});
    case 2:
      return ClampTime(now - NaturalStep(limit) * choices.Between(0, 3));
    case 3:
      return choices.OneOf({WallTime{}, kMaxTime});
    default:
      return AnyTime(choices);
  }
}

/// What is held by slots in all stays below what is counted.
std::int64_t LargestCost(const LimitNumbers& limit) {
  return limit.algorithm == Algorithm::kConcurrency ? kMaxAmount / 128
                                                    : std::numeric_limits<std::int64_t>::max();
}

std::int64_t AnyCost(const LimitNumbers& limit, Choices& choices) {
  if (choices.OneIn(8)) return AnyMagnitude(choices, LargestCost(limit));
  if (choices.OneIn(8)) return limit.cap;
  const std::int64_t share = std::max<std::int64_t>(1, limit.cap / 4);
  return choices.Between(1, choices.OneIn(3) ? share : std::min<std::int64_t>(3, limit.cap));
}

struct Admitted {
  WallTime at;
  std::int64_t cost;
};

/// A run of checks on one key at times that only go forward, and what was let in.
std::vector<Admitted> RunForward(const Limit& limit, Choices& choices, WallTime now, int steps) {
  SingleKey key(limit, now);
  std::vector<Admitted> admitted;
  for (int step = 0; step < steps; ++step) {
    now = LaterThan(now, limit.numbers(), choices);
    const std::int64_t cost = AnyCost(limit.numbers(), choices);
    const std::uint64_t slot = static_cast<std::uint64_t>(step) + 1;
    if (key.Check(now, cost, slot).outcome == Outcome::kAllowed) admitted.push_back({now, cost});
  }
  return admitted;
}

class EveryAlgorithm : public ::testing::TestWithParam<Algorithm> {
 protected:
  static constexpr std::size_t kSequences = 400;
  static constexpr int kSteps = 60;
};

std::string NameOfAlgorithm(const ::testing::TestParamInfo<Algorithm>& info) {
  return AlgorithmName(info.param);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, EveryAlgorithm, ::testing::ValuesIn(kAlgorithms),
                         NameOfAlgorithm);

std::vector<Algorithm> AllBut(Algorithm one) {
  std::vector<Algorithm> others(kAlgorithms);
  std::erase(others, one);
  return others;
}

/// A slot lives by the clock of the thread that took it.
class EveryAlgorithmButConcurrency : public EveryAlgorithm {};
INSTANTIATE_TEST_SUITE_P(Algorithms, EveryAlgorithmButConcurrency,
                         ::testing::ValuesIn(AllBut(Algorithm::kConcurrency)), NameOfAlgorithm);

/// What the counter makes of its two windows depends on where in the window the clock lands.
class EveryAlgorithmButCounter : public EveryAlgorithm {};
INSTANTIATE_TEST_SUITE_P(Algorithms, EveryAlgorithmButCounter,
                         ::testing::ValuesIn(AllBut(Algorithm::kSlidingWindowCounter)),
                         NameOfAlgorithm);

std::string Describe(const LimitNumbers& limit) {
  return std::string(AlgorithmName(limit.algorithm)) + " anchor " +
         std::to_string(static_cast<int>(limit.anchor)) + " cap " + std::to_string(limit.cap) +
         " rate " + std::to_string(limit.rate_num) + "/" + std::to_string(limit.rate_den) +
         " each " + std::to_string(limit.interval.count()) + " µs, window " +
         std::to_string(limit.window.count()) + " µs";
}

// ---- What may be let in at most

Rational BucketBound(const LimitNumbers& limit, Micros span) {
  Integer counted = span.count();
  if (limit.interval > Micros{1}) counted += limit.interval.count();
  return limit.cap + Rational(limit.rate_num, limit.rate_den) *
                         Rational(counted, Integer(limit.interval.count()));
}

void ExpectBucketBound(const LimitNumbers& limit, const std::vector<Admitted>& admitted) {
  for (std::size_t first = 0; first < admitted.size(); ++first) {
    Integer sum = 0;
    for (std::size_t last = first; last < admitted.size(); ++last) {
      sum += admitted[last].cost;
      const Micros span = admitted[last].at - admitted[first].at;
      ASSERT_LE(Rational(sum), BucketBound(limit, span)) << "within " << span.count() << " µs";
    }
  }
}

/// At most the cap in every span that begins with a call and lasts a window.
void ExpectSpansBound(const LimitNumbers& limit, const std::vector<Admitted>& admitted) {
  for (std::size_t first = 0; first < admitted.size(); ++first) {
    Integer sum = 0;
    for (std::size_t i = first; i < admitted.size(); ++i) {
      if (admitted[i].at - admitted[first].at < limit.window) sum += admitted[i].cost;
    }
    ASSERT_LE(sum, limit.cap) << "within a window from "
                              << admitted[first].at.time_since_epoch().count();
  }
}

void ExpectFirstHitBound(const LimitNumbers& limit, const std::vector<Admitted>& admitted) {
  Integer sum = 0;
  WallTime begin{};
  for (const Admitted& call : admitted) {
    if (sum == 0 || call.at - begin >= limit.window) {
      begin = call.at;
      sum = 0;
    }
    sum += call.cost;
    ASSERT_LE(sum, limit.cap) << "in the window from " << begin.time_since_epoch().count();
  }
}

void ExpectWindowsBound(const LimitNumbers& limit, const std::vector<Admitted>& admitted) {
  std::map<Integer, Integer> sum_of_window;
  for (const Admitted& call : admitted) {
    const Integer begin = WindowAt(limit, call.at.time_since_epoch().count()).begin;
    ASSERT_LE(sum_of_window[begin] += call.cost, limit.cap) << "in the window from " << begin;
  }
}

void ExpectBound(const LimitNumbers& limit, const std::vector<Admitted>& admitted) {
  switch (limit.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return ExpectBucketBound(limit, admitted);
    case Algorithm::kFixedWindow:
      return limit.anchor == Anchor::kFirstHit ? ExpectFirstHitBound(limit, admitted)
                                               : ExpectWindowsBound(limit, admitted);
    case Algorithm::kSlidingWindowCounter:
      return ExpectWindowsBound(limit, admitted);
    case Algorithm::kSlidingWindowLog:
    case Algorithm::kConcurrency:  // Without a release a slot is held for its time to live.
      return ExpectSpansBound(limit, admitted);
  }
}

TEST_P(EveryAlgorithm, NeverAdmitsMoreThanItsLimit) {
  for (const std::uint64_t seed : TestSeeds(kSequences)) {
    RandomChoices choices(seed);
    const Limit limit = AnyLimit(choices, GetParam());
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed) + " " + Describe(limit.numbers()));
    ExpectBound(limit.numbers(), RunForward(limit, choices, AnyTime(choices), kSteps));
    if (HasFatalFailure()) return;
  }
}

/// A clock that is a little behind does not turn the key's own time back.
TEST_P(EveryAlgorithmButConcurrency, NeverAdmitsMoreWhenThreadsReadTheClockOutOfOrder) {
  for (const std::uint64_t seed : TestSeeds(kSequences)) {
    RandomChoices choices(seed);
    const Limit limit = AnyLimit(choices, GetParam());
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed) + " " + Describe(limit.numbers()));
    WallTime latest = AnyTime(choices);
    SingleKey key(limit, latest);
    std::vector<Admitted> admitted;
    for (std::uint64_t slot = 1; slot <= kSteps; ++slot) {
      latest = LaterThan(latest, limit.numbers(), choices);
      const WallTime read = ClampTime(latest - Micros{choices.Between(0, kClockTolerance.count())});
      const std::int64_t cost = AnyCost(limit.numbers(), choices);
      if (key.Check(read, cost, slot).outcome != Outcome::kAllowed) continue;
      const WallTime own_time = admitted.empty() ? read : std::max(read, admitted.back().at);
      admitted.push_back({own_time, cost});
    }
    ExpectBound(limit.numbers(), admitted);
    if (HasFatalFailure()) return;
  }
}

// ---- Adjustments

TEST_P(EveryAlgorithm, AnAdjustmentHasNoEffectAfterItsDeadline) {
  for (const std::uint64_t seed : TestSeeds(kSequences)) {
    RandomChoices choices(seed);
    const Limit limit = AnyLimit(choices, GetParam());
    WallTime now = AnyTime(choices);
    SingleKey key(limit, now);
    for (int step = 0; step < kSteps; ++step) {
      now = LaterThan(now, limit.numbers(), choices);
      key.Force(now, AnyCost(limit.numbers(), choices), static_cast<std::uint64_t>(step) + 1);
      const WallTime taken_at = key.ReceiptTime();
      const WallTime until = AdjustableUntil(limit.numbers(), taken_at);
      if (until >= kMaxTime) continue;
      now = std::max(now, until + Micros{choices.OneOf({0, 0, 1, 1'000'000})});
      if (choices.OneIn(2)) key.Check(now, 1);
      SingleKey adjusted = key;
      adjusted.Adjust(now, taken_at, choices.Between(-limit.cap(), limit.cap()));
      ASSERT_EQ(adjusted.Peek(now, limit.cap()), key.Peek(now, limit.cap()))
          << Describe(limit.numbers()) << "\nseed " << seed;
    }
  }
}

// ---- Denials

TEST_P(EveryAlgorithm, ADeniedCheckChangesNothing) {
  for (const std::uint64_t seed : TestSeeds(kSequences)) {
    RandomChoices choices(seed);
    const Limit limit = AnyLimit(choices, GetParam());
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed) + " " + Describe(limit.numbers()));
    WallTime now = AnyTime(choices);
    SingleKey key(limit, now);
    for (std::uint64_t slot = 1; slot <= kSteps; ++slot) {
      now = LaterThan(now, limit.numbers(), choices);
      const SingleKey before = key;
      const Verdict verdict = key.Check(now, AnyCost(limit.numbers(), choices), slot);
      if (verdict.outcome != Outcome::kAllowed) {
        ASSERT_TRUE(SameMemory(before, key));
      }
    }
  }
}

/// Checks the promise of a denial: after the wait the same call succeeds, and not before.
void ExpectExactRetry(const SingleKey& key, WallTime now, std::int64_t cost, Micros retry_after) {
  ASSERT_GE(retry_after, Micros{1});
  if (retry_after > kMaxTime - now) return;  // No clock gets there.
  const WallTime then = now + retry_after;
  ASSERT_EQ(key.Peek(then, cost).outcome, Outcome::kAllowed) << "after " << retry_after.count();
  ASSERT_EQ(key.Peek(then - Micros{1}, cost).outcome, Outcome::kDenied)
      << "1 µs before " << retry_after.count();
}

/// Checks the promise of a status: after the wait everything is there again, and not before.
void ExpectExactReset(const SingleKey& key, WallTime now, const Verdict& verdict) {
  if (verdict.reset_after > kMaxTime - now) return;
  const WallTime then = now + verdict.reset_after;
  ASSERT_EQ(key.Left(then), verdict.limit) << "after " << verdict.reset_after.count();
  if (verdict.reset_after > Micros{0}) {
    ASSERT_LT(key.Left(then - Micros{1}), verdict.limit)
        << "1 µs before " << verdict.reset_after.count();
  }
}

TEST_P(EveryAlgorithm, ReportsTheExactRetryTimeWhateverTheClockDoes) {
  for (const std::uint64_t seed : TestSeeds(kSequences)) {
    RandomChoices choices(seed);
    const Limit limit = AnyLimit(choices, GetParam());
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed) + " " + Describe(limit.numbers()));
    WallTime now = AnyTime(choices);
    SingleKey key(limit, now);
    for (std::uint64_t slot = 1; slot <= kSteps; ++slot) {
      now = AnyNextTime(now, limit.numbers(), choices);
      const std::int64_t cost = AnyCost(limit.numbers(), choices);
      if (choices.OneIn(16)) key.Force(now, cost, slot);
      const Verdict verdict = key.Check(now, cost, slot + kSteps);
      if (verdict.outcome == Outcome::kDenied) {
        ExpectExactRetry(key, now, cost, verdict.retry_after);
      }
      ExpectExactReset(key, now, verdict);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EveryAlgorithmButCounter, AClockThatIsSetBackNeitherRefillsNorConsumes) {
  for (const std::uint64_t seed : TestSeeds(kSequences)) {
    RandomChoices choices(seed);
    const Limit limit = AnyLimit(choices, GetParam());
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed) + " " + Describe(limit.numbers()));
    const WallTime now = AnyTime(choices);
    SingleKey key(limit, now);
    for (std::uint64_t slot = 1; slot <= 5; ++slot) {
      key.Force(now, AnyCost(limit.numbers(), choices), slot);
    }
    const WallTime earlier = At(choices.Between(0, now.time_since_epoch().count()));
    ASSERT_EQ(key.Left(earlier), key.Left(now)) << "at " << earlier.time_since_epoch().count();
  }
}

// ---- The model

/// The key and its model, which must agree after every operation.
class Pair {
 public:
  Pair(const Limit& limit, WallTime now)
      : limit_(limit), key_(limit, now), model_(limit.numbers(), Count(now)) {}

  void Force(WallTime now, std::int64_t cost, std::uint64_t slot) {
    key_.Force(now, cost, slot);
    model_.Advance(limit_.numbers(), Count(now));
    model_.Take(cost, slot);
    receipt_time_ = key_.ReceiptTime();
    EXPECT_EQ(Count(receipt_time_), model_.ReceiptTime());
  }

  void Check(WallTime now, std::int64_t cost, std::uint64_t slot) {
    KeyModel advanced = model_;
    const ClockSeen seen = advanced.Advance(limit_.numbers(), Count(now));
    const bool fits = cost <= advanced.Left() || advanced.Holds(slot);
    const Verdict verdict = key_.Check(now, cost, slot);
    EXPECT_EQ(verdict.outcome == Outcome::kAllowed, fits);
    if (fits) {
      EXPECT_EQ(verdict.delay.count(), advanced.Delay());
      advanced.Take(cost, slot);
    } else if (cost <= limit_.cap()) {
      EXPECT_EQ(verdict.retry_after, Wait(now, advanced.WhenLeft(cost)));
    }
    EXPECT_EQ(verdict.reset_after, Wait(now, advanced.WhenFresh()));
    if (fits || seen == ClockSeen::kSetBack) model_ = advanced;
  }

  void Adjust(WallTime now, std::int64_t delta) {
    if (limit_.algorithm() == Algorithm::kConcurrency) return;
    key_.Adjust(now, receipt_time_, delta);
    model_.Advance(limit_.numbers(), Count(now));
    model_.Adjust(Count(receipt_time_), delta);
  }

  void Release(WallTime now, std::uint64_t slot) {
    if (limit_.algorithm() != Algorithm::kConcurrency) return;
    KeyModel advanced = model_;
    advanced.Advance(limit_.numbers(), Count(now));
    const bool released = advanced.Release(slot);
    EXPECT_EQ(key_.Release(now, slot), released);
    if (released) model_ = advanced;
  }

  void Renew(WallTime now, std::uint64_t slot) {
    if (limit_.algorithm() != Algorithm::kConcurrency) return;
    KeyModel advanced = model_;
    advanced.Advance(limit_.numbers(), Count(now));
    const bool renewed = advanced.Renew(slot);
    EXPECT_EQ(key_.Renew(now, slot), renewed);
    if (renewed) model_ = advanced;
  }

  void ExpectSameLeft(WallTime now) const {
    KeyModel advanced = model_;
    advanced.Advance(limit_.numbers(), Count(now));
    EXPECT_EQ(Integer(key_.Left(now)), advanced.Left());
  }

 private:
  static Integer Count(WallTime time) { return time.time_since_epoch().count(); }

  static Micros Wait(WallTime now, const Integer& moment) {
    if (moment > kMaxWait.count()) return kMaxWait;
    return std::max(Micros{0}, At(moment.convert_to<std::int64_t>()) - now);
  }

  Limit limit_;
  SingleKey key_;
  KeyModel model_;
  WallTime receipt_time_{};
};

TEST_P(EveryAlgorithm, AgreesWithTheModelOnRandomCalls) {
  for (const std::uint64_t seed : TestSeeds(kSequences * 5)) {
    RandomChoices choices(seed);
    const Limit limit = AnyLimit(choices, GetParam());
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed) + " " + Describe(limit.numbers()));
    WallTime now = AnyTime(choices);
    Pair pair(limit, now);
    for (int step = 0; step < kSteps; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      now = AnyNextTime(now, limit.numbers(), choices);
      const std::int64_t cost = AnyCost(limit.numbers(), choices);
      const std::uint64_t slot = choices.Below(8) + 1;
      switch (choices.Below(8)) {
        case 0:
          pair.Force(now, cost, slot);
          break;
        case 1:
          pair.Adjust(now, choices.OneIn(2) ? cost : -cost);
          break;
        case 2:
          pair.Release(now, slot);
          break;
        case 3:
          pair.Renew(now, slot);
          break;
        default:
          pair.Check(now, cost, slot);
      }
      pair.ExpectSameLeft(now);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace sluice::algo::testing

#include "algo/lease.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "algo/testing/choices.h"
#include "algo/testing/model.h"

namespace sluice::algo::lease {
namespace {

using algo::testing::AnyMagnitude;
using algo::testing::Choices;
using algo::testing::Integer;
using algo::testing::KeyModel;
using algo::testing::RandomChoices;
using algo::testing::TestSeeds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr WallTime kNow{std::chrono::hours(500'000)};

Limit Bucket(std::int64_t capacity, std::int64_t per_second) {
  return *Limit::TokenBucket({.capacity = capacity, .refill = Rate::PerSecond(per_second)});
}

/// A key in a store that lends.
struct Lender {
  explicit Lender(const Limit& its_limit) : limit(its_limit.numbers()), state(Fresh(limit, kNow)) {}

  std::int64_t Left(WallTime now) {
    lease::Advance(limit, now, state, ledger);
    return algo::Left(limit, now, state);
  }
  Grant Fetch(WallTime now, const Request& request) {
    lease::Advance(limit, now, state, ledger);
    return lease::Fetch(limit, now, state, ledger, request);
  }
  void ApplyReport(WallTime now, const Report& report) {
    lease::Advance(limit, now, state, ledger);
    lease::ApplyReport(limit, state, ledger, report);
  }

  LimitNumbers limit;
  State state;
  Ledger ledger;
};

TEST(Lease, OutstandingTokensAreNotRefilled) {
  Lender key(Bucket(1'000, 1'000));
  const Grant grant = key.Fetch(kNow, {.waiting = 100});
  ASSERT_GE(grant.tokens, 100);
  EXPECT_EQ(key.Left(kNow + seconds(5)), 1'000 - grant.tokens);
}

TEST(Lease, SpentTokensAreRefilledFromTheReportOn) {
  Lender key(Bucket(1'000, 1'000));
  const Grant grant = key.Fetch(kNow, {.waiting = 100});
  key.ApplyReport(kNow + seconds(1), {.of = grant.id, .spent = 50});
  EXPECT_EQ(key.Left(kNow + seconds(1)), 1'000 - grant.tokens);
  EXPECT_EQ(key.Left(kNow + seconds(5)), 1'000 - grant.tokens + 50);
}

TEST(Lease, ExpiredTokensAreRefilledFromTheirExpiryOn) {
  Lender key(Bucket(1'000, 10));
  const Grant grant = key.Fetch(kNow, {.waiting = 100});
  EXPECT_EQ(key.Left(grant.id.expires - Micros{1}), 1'000 - grant.tokens);
  EXPECT_EQ(key.Left(grant.id.expires + seconds(2)), 1'000 - grant.tokens + 20);
}

TEST(Lease, ReturnedTokensAreAvailableAgain) {
  Lender key(Bucket(1'000, 1'000));
  const Grant grant = key.Fetch(kNow, {.waiting = 100});
  key.ApplyReport(kNow + milliseconds(1), {.of = grant.id, .returned = grant.tokens});
  EXPECT_EQ(key.Left(kNow + milliseconds(1)), 1'000);
  EXPECT_EQ(Outstanding(key.ledger), 0);
}

TEST(Lease, ALateReturnIsIgnored) {
  Lender key(Bucket(1'000, 10));
  const Grant grant = key.Fetch(kNow, {.waiting = 100});
  key.ApplyReport(grant.id.expires, {.of = grant.id, .returned = grant.tokens});
  EXPECT_EQ(key.Left(grant.id.expires), 1'000 - grant.tokens);
}

TEST(Lease, AReturnToAnotherLedgerIsIgnored) {
  Lender key(Bucket(1'000, 10));
  const Grant grant = key.Fetch(kNow, {.waiting = 100});
  const std::int64_t left = key.Left(kNow);
  const Id other{.generation = grant.id.generation + 1, .expires = grant.id.expires};
  key.ApplyReport(kNow, {.of = other, .returned = grant.tokens});
  EXPECT_EQ(key.Left(kNow), left);
}

TEST(Lease, AResetKeepsOutstandingTokens) {
  Lender key(Bucket(1'000, 10));
  Take(key.limit, key.state, 600, 0);
  const Grant grant = key.Fetch(kNow, {.waiting = 100});
  Reset(key.limit, kNow, key.state, key.ledger);
  EXPECT_EQ(key.Left(kNow), 1'000 - grant.tokens);
}

TEST(Lease, AWindowAcceptsItsOwnReturns) {
  Lender key(*Limit::FixedWindow({.limit = 1'000, .window = seconds(60)}));
  const Grant grant = key.Fetch(kNow, {.waiting = 100});
  EXPECT_EQ(grant.id.expires, kNow + seconds(60));
  key.ApplyReport(kNow + seconds(30), {.of = grant.id, .returned = 40});
  EXPECT_EQ(key.Left(kNow + seconds(30)), 1'000 - grant.tokens + 40);
  key.ApplyReport(kNow + seconds(60), {.of = grant.id, .returned = 10});
  EXPECT_EQ(key.Left(kNow + seconds(60)), 1'000);
}

TEST(Lease, ASlidingCounterAcceptsReturnsToThePreviousWindow) {
  Lender key(*Limit::SlidingWindowCounter({.limit = 1'000, .window = seconds(60)}));
  const Grant grant = key.Fetch(kNow, {.waiting = 100});
  key.ApplyReport(kNow + seconds(60),
                  {.of = grant.id, .spent = grant.tokens - 100, .returned = 100});
  EXPECT_EQ(key.Left(kNow + seconds(60)), 1'000 - grant.tokens + 100);
}

TEST(Lease, ASmallLimitIsDecidedByTheStore) {
  Lender key(Bucket(49, 10));
  const Grant grant = key.Fetch(kNow, {.waiting = 3});
  EXPECT_TRUE(grant.exact);
  EXPECT_EQ(grant.tokens, 3);
  EXPECT_EQ(key.Left(kNow), 46);
  EXPECT_EQ(Outstanding(key.ledger), 0);
}

TEST(Lease, AKeyWithAGrantIsDecidedByTheStoreAndSpendsThatFirst) {
  Lender key(Bucket(1'000, 10));
  key.state.grant = 5;
  const Grant grant = key.Fetch(kNow, {.waiting = 3});
  EXPECT_TRUE(grant.exact);
  EXPECT_EQ(key.state.grant, 2);
  EXPECT_EQ(key.Left(kNow), 1'000);
}

TEST(Lease, ASaturatedBucketLeasesFutureRefill) {
  Lender key(Bucket(1'000, 1'000));
  Take(key.limit, key.state, 1'000, 0);
  const Grant grant = key.Fetch(kNow, {.waiting = 1, .demand = 5'000, .denied = 10});
  EXPECT_GT(grant.tokens, 10);
  EXPECT_EQ(grant.schedule.ready, 0);
  EXPECT_GT(grant.schedule.num, 0);
  EXPECT_LT(key.Left(kNow), 0);
}

TEST(Lease, AFullLedgerMergesEntriesWithTheLaterExpiry) {
  Lender key(Bucket(1'000'000, 1));
  std::int64_t lent = 0;
  for (int i = 0; i < 40; ++i) {
    Grant grant = key.Fetch(kNow + milliseconds(i), {.waiting = 20});
    lent += grant.tokens;
    for (LedgerEntry& part : key.ledger.entries) {
      // As after many set-backs of the clock: no two ends are the same.
      if (part.tokens > 0 && part.expires == grant.id.expires) part.expires += Micros{i};
    }
  }
  EXPECT_EQ(Outstanding(key.ledger), lent);
}

// ---- Whatever comes

Limit AnyLentLimit(Choices& choices) {
  const std::int64_t cap = choices.OneIn(3) ? 50 + AnyMagnitude(choices, std::int64_t{1} << 45)
                                            : choices.Between(50, 300);
  const Micros period{choices.OneOf<std::int64_t>({1'000, 999'983, 1'000'000, 60'000'000})};
  switch (choices.Below(3)) {
    case 0:
      return *Limit::FixedWindow({.limit = cap,
                                  .window = period,
                                  .anchor = choices.OneIn(2) ? Anchor::kEpoch : Anchor::kFirstHit});
    case 1:
      return *Limit::SlidingWindowCounter({.limit = cap, .window = period});
    default: {
      TokenBucketSpec spec{.capacity = cap, .refill = Rate::Per(choices.Between(1, 400), period)};
      if (choices.OneIn(3)) spec.refill_interval = Micros{choices.Between(1, 2'000'000)};
      const auto limit = Limit::TokenBucket(spec);
      return limit ? *limit : Bucket(choices.Between(50, 300), choices.Between(1, 1'000));
    }
  }
}

/// The oracle: the key's own model of what leaves the store and what comes back, and the
/// outstanding leases by their end.
class LenderModel {
 public:
  explicit LenderModel(const LimitNumbers& limit) : limit_(limit), key_(limit, Count(kNow)) {}

  void Advance(WallTime now) {
    if (limit_.algorithm == Algorithm::kTokenBucket) {
      while (!parts_.empty() && parts_.begin()->first <= now) {
        key_.Advance(Reduced(), Count(parts_.begin()->first));
        parts_.erase(parts_.begin());
      }
    }
    key_.Advance(Reduced(), Count(now));
  }

  void ApplyReport(const Report& report) {
    const auto part = parts_.find(report.of.expires);
    if (part == parts_.end() || report.of.generation != generation_) return;
    const std::int64_t returned = std::min(report.returned, part->second);
    part->second -= returned;
    key_.Advance(Reduced(), key_time_);
    if (limit_.algorithm == Algorithm::kTokenBucket) {
      key_.Adjust(0, -Integer(returned));
    } else {
      key_.Adjust(windows_.at(report.of.expires), -Integer(returned));
    }
    part->second -= std::min(report.spent, part->second);
    if (part->second == 0) parts_.erase(part);
  }

  void Lend(const Grant& grant) {
    key_.Take(grant.tokens, 0);
    if (grant.exact) return;
    parts_[grant.id.expires] += grant.tokens;
    generation_ = grant.id.generation;
    if (limit_.algorithm != Algorithm::kTokenBucket) {
      windows_[grant.id.expires] = key_.ReceiptTime();
    }
  }

  void At(WallTime now) { key_time_ = Count(now); }
  [[nodiscard]] Integer Left() const { return key_.Left(); }
  [[nodiscard]] Integer LeftAt(WallTime later) const {
    LenderModel copy = *this;
    copy.Advance(later);
    return copy.Left();
  }
  [[nodiscard]] Integer Outstanding() const {
    Integer sum = 0;
    for (const auto& [end, tokens] : parts_) sum += tokens;
    return sum;
  }
  /// Windows: what is over comes back no more.
  void Drop(WallTime oldest) { parts_.erase(parts_.begin(), parts_.lower_bound(oldest)); }

 private:
  static Integer Count(WallTime time) { return time.time_since_epoch().count(); }
  [[nodiscard]] LimitNumbers Reduced() const {
    LimitNumbers reduced = limit_;
    if (limit_.algorithm == Algorithm::kTokenBucket) {
      reduced.cap -= Outstanding().convert_to<std::int64_t>();
    }
    return reduced;
  }

  LimitNumbers limit_;
  KeyModel key_;
  std::map<WallTime, std::int64_t> parts_;
  std::int64_t generation_ = 0;
  std::map<WallTime, Integer> windows_;  ///< Where they begin, by where they end.
  Integer key_time_;
};

Request AnyRequest(Choices& choices, const LimitNumbers& limit, const std::vector<Grant>& given) {
  Request request;
  for (Report& report : request.reports) {
    if (given.empty() || choices.OneIn(2)) continue;
    const Grant& grant = given[choices.Below(given.size())];
    report.of = grant.id;
    report.spent = choices.Between(0, grant.tokens);
    report.returned = choices.Between(0, grant.tokens - report.spent);
  }
  request.waiting = choices.Between(0, choices.OneIn(4) ? limit.cap : 5);
  request.least = std::min<std::int64_t>(std::max<std::int64_t>(request.waiting, 1), 2);
  request.demand = choices.OneIn(2) ? AnyMagnitude(choices, 1'000'000) : 0;
  request.denied = choices.Between(0, 2);
  request.epoch = choices.OneIn(2) ? 0 : kNow.time_since_epoch() / kEpoch;
  return request;
}

std::int64_t SpendableAfter(const Grant& grant, std::int64_t micros) {
  const Schedule& schedule = grant.schedule;
  const std::int64_t more = (schedule.fraction + schedule.num * micros) / schedule.den;
  return std::min(grant.tokens, schedule.ready + std::max<std::int64_t>(more, 0));
}

/// No token may be spent before the key, had it kept all of them, would have had it.
void ExpectScheduleIsNotEarly(Choices& choices, const LenderModel& before, WallTime now,
                              const Grant& grant) {
  if (grant.tokens == 0) return;
  const std::int64_t longest = std::min<std::int64_t>(grant.good_for.count() - 1, 300'000);
  for (int i = 0; i < 4; ++i) {
    const std::int64_t micros = choices.Between(0, longest);
    const Integer had = before.LeftAt(now + Micros{micros});
    ASSERT_LE(SpendableAfter(grant, micros), std::max<Integer>(had, 0)) << micros;
  }
}

void ExpectTrueWait(const Lender& key, WallTime now, const Grant& grant, std::int64_t least) {
  if (grant.retry_after == Micros{0} || grant.retry_after > kMaxTime - now ||
      least > key.limit.cap) {
    return;
  }
  Lender then = key;
  EXPECT_GE(then.Left(now + grant.retry_after), least);
  Lender sooner = key;
  EXPECT_LT(sooner.Left(now + grant.retry_after - Micros{1}), least);
}

TEST(Lease, KeepsItsInvariantsOnRandomRequests) {
  for (const std::uint64_t seed : TestSeeds(2'000)) {
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
    RandomChoices choices(seed);
    const Limit limit = AnyLentLimit(choices);
    Lender key(limit);
    LenderModel model(key.limit);
    std::vector<Grant> given;
    WallTime now = kNow;
    for (int step = 0; step < 40; ++step) {
      now += Micros{choices.Between(0, choices.OneOf<std::int64_t>({10, 30'000, 3'000'000}))};
      const Request request = AnyRequest(choices, key.limit, given);
      lease::Advance(key.limit, now, key.state, key.ledger);
      model.At(now);
      model.Advance(now);
      if (key.limit.algorithm != Algorithm::kTokenBucket) {
        const bool slides = key.limit.algorithm == Algorithm::kSlidingWindowCounter;
        model.Drop(slides ? key.state.at : now + Micros{1});
      }
      for (const Report& report : request.reports) {
        lease::ApplyReport(key.limit, key.state, key.ledger, report);
        model.ApplyReport(report);
      }
      ASSERT_EQ(algo::Left(key.limit, now, key.state), model.Left()) << "step " << step;
      ASSERT_EQ(Outstanding(key.ledger), model.Outstanding()) << "step " << step;
      Request asks = request;
      asks.reports = {};
      const Grant grant = lease::Fetch(key.limit, now, key.state, key.ledger, asks);
      if (!grant.exact) ExpectScheduleIsNotEarly(choices, model, now, grant);
      if (HasFatalFailure()) return;
      if (grant.tokens > 0) model.Lend(grant);
      if (grant.tokens > 0 && !grant.exact) given.push_back(grant);
      ASSERT_EQ(algo::Left(key.limit, now, key.state), model.Left()) << "step " << step;
      if (key.limit.algorithm == Algorithm::kTokenBucket) {
        ASSERT_LE(Outstanding(key.ledger), key.limit.cap);
        ASSERT_LE(key.state.value, (key.limit.cap - Outstanding(key.ledger)) * key.limit.rate_den);
      }
      ExpectTrueWait(key, now, grant, asks.least);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace sluice::algo::lease

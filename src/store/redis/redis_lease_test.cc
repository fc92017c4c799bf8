#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "algo/lease.h"
#include "algo/testing/choices.h"
#include "redis/testing/redis_server.h"
#include "store/redis/testing/redis_driver.h"

namespace sluice::store::testing {
namespace {

using algo::testing::AnyMagnitude;
using algo::testing::Choices;
using algo::testing::RandomChoices;
using algo::testing::TestSeeds;
namespace lease = algo::lease;

RedisDriver<redis::testing::RedisServer>& TheDriver() {
  static RedisDriver<redis::testing::RedisServer> driver;
  return driver;
}

Limit AnyLentLimit(Choices& choices) {
  const std::int64_t cap =
      choices.OneIn(4) ? AnyMagnitude(choices, std::int64_t{1} << 45) : choices.Between(40, 400);
  const Micros period{choices.OneOf<std::int64_t>({1'000, 999'983, 1'000'000, 60'000'000})};
  switch (choices.Below(3)) {
    case 0:
      return *Limit::FixedWindow({.limit = cap,
                                  .window = period,
                                  .anchor = choices.OneOf({Anchor::kEpoch, Anchor::kFirstHit,
                                                           Anchor::kDay}) == Anchor::kDay
                                                ? Anchor::kEpoch
                                                : Anchor::kFirstHit});
    case 1:
      return *Limit::SlidingWindowCounter({.limit = cap, .window = period});
    default: {
      TokenBucketSpec spec{.capacity = cap, .refill = Rate::Per(choices.Between(1, 400), period)};
      if (choices.OneIn(4)) spec.refill_interval = Micros{choices.Between(1, 2'000'000)};
      const auto limit = Limit::TokenBucket(spec);
      return limit ? *limit : *Limit::TokenBucket({.capacity = 100, .refill = Rate::PerSecond(70)});
    }
  }
}

lease::Request AnyRequest(Choices& choices, const Limit& limit,
                          const std::vector<lease::Grant>& given) {
  lease::Request request;
  for (lease::Report& report : request.reports) {
    if (given.empty() || choices.OneIn(2)) continue;
    const lease::Grant& grant = given[choices.Below(given.size())];
    report.of = grant.id;
    if (choices.OneIn(8)) ++report.of.generation;
    report.spent = choices.Between(0, grant.tokens);
    report.returned = choices.Between(0, grant.tokens - report.spent);
  }
  request.waiting = choices.Between(0, choices.OneIn(4) ? limit.cap() : 5);
  request.least = choices.Between(1, 3);
  request.demand = choices.OneIn(2) ? AnyMagnitude(choices, 1'000'000) : 0;
  request.denied = choices.Between(0, 2);
  if (!given.empty() && choices.OneIn(2)) request.epoch = given.back().epoch;
  request.nodes = choices.Between(1, 6);
  return request;
}

/// A key as the arithmetic in C++ has it.
struct Lender {
  Lender(const Limit& its_limit, WallTime now)
      : limit(its_limit.numbers()), state(algo::Fresh(limit, now)) {}

  algo::ClockSeen Advance(WallTime now) {
    ForgetIfFresh(now);
    return lease::Advance(limit, now, state, ledger);
  }
  /// What is as if never used is forgotten, as every store does: when it is next asked for, and
  /// when it is written, which a clock that is set back afterwards does not undo.
  void ForgetIfFresh(WallTime now) {
    if (lease::FreshAt(limit, state, ledger) > now) return;
    state = algo::Fresh(limit, now);
    ledger = {};
    leased = false;
  }

  LimitNumbers limit;
  algo::State state;
  lease::Ledger ledger;
  bool leased = false;  ///< There is a ledger.
};

/// The same questions to Redis.
class LeasedKey {
 public:
  LeasedKey(std::string name, const Limit& limit) : name_(std::move(name)), limit_(limit) {}

  KeyUse& Ask(Operation operation, WallTime now, std::int64_t cost, Lending* lending = nullptr) {
    use_ = {};
    use_.key = {.scope = "lease:test", .tag = name_};
    use_.limit = &limit_;
    use_.cost = cost;
    use_.lending = lending;
    StoreCall call{.operation = operation, .uses = {&use_, 1}, .now = now};
    TheDriver().Run(call);
    EXPECT_TRUE(call.ok) << ErrorName(call.error);
    allowed_ = call.allowed;
    return use_;
  }
  [[nodiscard]] bool allowed() const { return allowed_; }

 private:
  std::string name_;
  Limit limit_;
  KeyUse use_;
  bool allowed_ = false;
};

void ExpectSame(const lease::Grant& redis, const lease::Grant& here) {
  EXPECT_EQ(redis.tokens, here.tokens);
  EXPECT_EQ(redis.schedule, here.schedule);
  EXPECT_EQ(redis.id, here.id);
  EXPECT_EQ(redis.good_for, here.good_for);
  EXPECT_EQ(redis.lapses, here.lapses);
  EXPECT_EQ(redis.exact, here.exact);
  EXPECT_EQ(redis.recall, here.recall);
  EXPECT_EQ(redis.left, here.left);
  EXPECT_EQ(redis.retry_after, here.retry_after);
  EXPECT_EQ(redis.reset_after, here.reset_after);
  EXPECT_EQ(redis.taken_at, here.taken_at);
  EXPECT_EQ(redis.epoch, here.epoch);
}

void ExpectSameFetch(LeasedKey& redis, Lender& here, WallTime now, const lease::Request& request,
                     std::vector<lease::Grant>& given) {
  Lending lending{.request = request, .grant = {}};
  redis.Ask(Operation::kFetch, now, 0, &lending);
  here.Advance(now);
  const lease::Grant grant = lease::Fetch(here.limit, now, here.state, here.ledger, request);
  here.leased = true;
  here.ForgetIfFresh(now);
  ExpectSame(lending.grant, grant);
  if (grant.tokens > 0 && !grant.exact) given.push_back(grant);
}

void ExpectSameReturn(LeasedKey& redis, Lender& here, WallTime now, const lease::Request& request) {
  Lending lending{.request = request, .grant = {}};
  redis.Ask(Operation::kReturn, now, 0, &lending);
  Lender next = here;
  const bool set_back = next.Advance(now) == algo::ClockSeen::kSetBack;
  for (const lease::Report& report : request.reports) {
    lease::ApplyReport(next.limit, next.state, next.ledger, report);
  }
  if (!next.leased && !set_back) return;
  here = next;
  here.ForgetIfFresh(now);
}

void ExpectSameCheck(LeasedKey& redis, Lender& here, WallTime now, std::int64_t cost) {
  const KeyUse& use = redis.Ask(Operation::kCheck, now, cost);
  Lender next = here;
  const bool set_back = next.Advance(now) == algo::ClockSeen::kSetBack;
  const bool fits = algo::Left(next.limit, now, next.state) >= cost;
  EXPECT_EQ(redis.allowed(), fits);
  if (fits) {
    algo::Take(next.limit, next.state, cost, 0);
  } else if (cost <= next.limit.cap) {
    EXPECT_EQ(use.verdict.retry_after,
              lease::WaitFor(next.limit, now, next.state, next.ledger, cost));
  }
  if (!fits && !set_back) return;
  here = next;
  here.ForgetIfFresh(now);
}

TEST(RedisLease, AgreesWithTheArithmeticInMemory) {
  for (const std::uint64_t seed : TestSeeds(300)) {
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
    RandomChoices choices(seed);
    const Limit limit = AnyLentLimit(choices);
    WallTime now{Micros{choices.Between(0, std::int64_t{1} << 51)}};
    LeasedKey redis(std::to_string(seed), limit);
    Lender here(limit, now);
    std::vector<lease::Grant> given;
    for (int step = 0; step < 30; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      now += Micros{choices.Between(0, choices.OneOf<std::int64_t>({10, 30'000, 3'000'000}))};
      if (choices.OneIn(30)) now -= std::chrono::seconds(choices.Between(2, 10));
      now = std::max(now, WallTime{});
      const lease::Request request = AnyRequest(choices, limit, given);
      switch (choices.Below(8)) {
        case 0:
        case 1:
          ExpectSameReturn(redis, here, now, request);
          break;
        case 2:
        case 3:
          ExpectSameCheck(redis, here, now, choices.Between(1, 60));
          break;
        case 4: {
          if (!choices.OneIn(4)) break;
          redis.Ask(Operation::kReset, now, 0);
          here.Advance(now);
          lease::Reset(here.limit, now, here.state, here.ledger);
          here.ForgetIfFresh(now);
          break;
        }
        default:
          ExpectSameFetch(redis, here, now, request, given);
      }
      const KeyUse& look = redis.Ask(Operation::kPeek, now, 0);
      Lender seen = here;
      seen.Advance(now);
      EXPECT_EQ(look.verdict.remaining,
                std::max<std::int64_t>(algo::Left(seen.limit, now, seen.state), 0));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace sluice::store::testing

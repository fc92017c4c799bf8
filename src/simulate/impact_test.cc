#include "simulate/impact.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/reader.h"
#include "simulate/traffic_sampler.h"

namespace sluice::simulate {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The begin of a window.
constexpr WallTime kImpactStart{seconds(1'800'000'000)};

std::shared_ptr<const match::RuleSet> ImpactRules(const std::string& rules) {
  rules::ReadResult read = rules::Read("rules.yaml", "rules:\n" + rules);
  for (const config_text::Diagnostic& error : read.errors) {
    ADD_FAILURE() << config_text::Describe(error);
  }
  return match::RuleSet::Compile(std::move(*read.file));
}

std::string PerKey(int limit) {
  return "  - {id: k, per: api_key, algorithm: fixed_window, limit: " + std::to_string(limit) +
         ", window: 10}\n";
}

std::string Everyone(int limit) {
  return "  - {id: all, per: [], algorithm: fixed_window, limit: " + std::to_string(limit) +
         ", window: 10}\n";
}

TrafficSample RandomTraffic(std::uint64_t seed, std::size_t calls, std::size_t callers,
                            const TrafficSamplerOptions& options = {}) {
  std::mt19937_64 random(seed);
  TrafficSampler sampler(options, 2, kImpactStart);
  LoopTrafficSampler* const loops[] = {sampler.AddLoop(), sampler.AddLoop()};
  WallTime now = kImpactStart;
  for (std::size_t i = 0; i < calls; ++i) {
    now += milliseconds(random() % 50);
    const std::string key = "key" + std::to_string(random() % callers % (1 + random() % callers));
    const std::vector<Attribute> attributes{{"api_key", key}};
    loops[random() % 2]->Record(attributes, 1, now);
  }
  return sampler.Take(now);
}

std::string KeyOf(const SampledCall& call) { return std::string(call.row.attributes[0].value); }

// Fixed windows of ten seconds, in the plainest way. `per_key` is of each caller, `all` of all.
class PlainWindows {
 public:
  PlainWindows(int per_key, int all) : per_key_(per_key), all_(all) {}

  bool Allow(const std::string& key, WallTime now) {
    const auto window = now.time_since_epoch() / seconds(10);
    int& of_key = used_[{key, window}];
    int& of_all = used_[{"", window}];
    if (of_key >= per_key_ || of_all >= all_) return false;
    ++of_key;
    ++of_all;
    return true;
  }

 private:
  int per_key_;
  int all_;
  std::map<std::pair<std::string, std::int64_t>, int> used_;
};

struct PlainImpact {
  std::uint64_t denied = 0, allowed = 0;
  std::set<std::string> denied_callers, allowed_callers, callers;
};

PlainImpact PlainImpactOf(const TrafficSample& sample, PlainWindows before, PlainWindows after,
                          std::uint32_t nodes) {
  PlainImpact impact;
  SampledCall call;
  for (std::size_t i = 0; i < sample.calls(); ++i) {
    sample.Read(i, call);
    const std::string key = KeyOf(call);
    impact.callers.insert(key);
    for (std::uint32_t node = 0; node < nodes; ++node) {
      const bool was = before.Allow(key, call.row.time);
      const bool is = after.Allow(key, call.row.time);
      if (was && !is) {
        ++impact.denied;
        impact.denied_callers.insert(key);
      } else if (!was && is) {
        ++impact.allowed;
        impact.allowed_callers.insert(key);
      }
    }
  }
  return impact;
}

void ExpectSame(const Impact& impact, const PlainImpact& plain) {
  EXPECT_EQ(impact.newly_denied_calls, plain.denied);
  EXPECT_EQ(impact.newly_allowed_calls, plain.allowed);
  EXPECT_EQ(impact.newly_denied_callers, plain.denied_callers.size());
  EXPECT_EQ(impact.newly_allowed_callers, plain.allowed_callers.size());
  EXPECT_EQ(impact.callers, plain.callers.size());
}

TEST(ImpactTest, ItEqualsAnObviousComputation) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TrafficSample sample = RandomTraffic(seed, 3000, 30);
    const auto before = ImpactRules(PerKey(20) + Everyone(300));
    const auto after = ImpactRules(PerKey(15) + Everyone(350));
    for (const std::uint32_t nodes : {1U, 3U}) {
      const ImpactResult result = EvaluateImpact(sample, *before, *after, {.nodes = nodes});
      ASSERT_TRUE(result.impact) << result.unavailable_reason;
      ExpectSame(*result.impact,
                 PlainImpactOf(sample, PlainWindows(20, 300), PlainWindows(15, 350), nodes));
      EXPECT_EQ(result.impact->calls, 3000U);
      EXPECT_EQ(result.impact->replayed_calls, 3000U * nodes);
      EXPECT_EQ(result.impact->approximate, nodes > 1);
      EXPECT_EQ(result.impact->share, 1.0);
      EXPECT_EQ(result.impact->span, sample.span());
    }
  }
}

TEST(ImpactTest, BudgetsThatCallersShareAreScaledByTheShare) {
  const TrafficSample sample = RandomTraffic(5, 40'000, 2000, {.max_calls = 8000});
  const auto divisor = static_cast<int>(sample.share_divisor());
  ASSERT_GT(divisor, 1);
  const auto before = ImpactRules(PerKey(5) + Everyone(400));
  const auto after = ImpactRules(PerKey(5) + Everyone(200));
  const ImpactResult result = EvaluateImpact(sample, *before, *after);
  ASSERT_TRUE(result.impact) << result.unavailable_reason;
  ExpectSame(*result.impact, PlainImpactOf(sample, PlainWindows(5, 400 / divisor),
                                           PlainWindows(5, 200 / divisor), 1));
  EXPECT_GT(result.impact->newly_denied_calls, 0U);
  EXPECT_TRUE(result.impact->approximate);
  EXPECT_EQ(result.impact->share, 1.0 / divisor);
}

TEST(ImpactTest, TheMostDeniedCallersComeFirst) {
  TrafficSampler sampler({}, 1, kImpactStart);
  LoopTrafficSampler& loop = *sampler.AddLoop();
  // Caller i makes i calls, all in one window.
  for (int caller = 1; caller <= 50; ++caller) {
    const std::string key = "key" + std::to_string(caller);
    const std::vector<Attribute> attributes{{"ip", "192.0.2.1"}, {"api_key", key}};
    for (int i = 0; i < caller; ++i) loop.Record(attributes, 1, kImpactStart);
  }
  const TrafficSample sample = sampler.Take(kImpactStart + seconds(1));
  const auto before = ImpactRules(PerKey(1000));
  const auto after = ImpactRules(PerKey(10));
  const ImpactResult result = EvaluateImpact(sample, *before, *after);
  ASSERT_TRUE(result.impact) << result.unavailable_reason;
  const Impact& impact = *result.impact;
  EXPECT_EQ(impact.newly_denied_callers, 40U);
  EXPECT_EQ(impact.newly_denied_calls, 40U * 41 / 2);
  EXPECT_DOUBLE_EQ(impact.newly_denied_ratio(), 820.0 / 1275);
  ASSERT_EQ(impact.most_denied.size(), 10U);
  EXPECT_EQ(impact.most_denied[0].attribute, "api_key");
  EXPECT_EQ(impact.most_denied[0].value, "key50");
  EXPECT_EQ(impact.most_denied[0].calls, 50U);
  EXPECT_EQ(impact.most_denied[0].newly_denied_calls, 40U);
  EXPECT_EQ(impact.most_denied[9].value, "key41");
  const ImpactResult back = EvaluateImpact(sample, *after, *before);
  EXPECT_EQ(back.impact->newly_allowed_calls, 820U);
  EXPECT_EQ(back.impact->newly_allowed_callers, 40U);
  EXPECT_THAT(back.impact->most_denied, IsEmpty());
}

TEST(ImpactTest, TooFewCallsHaveNoImpactButAReason) {
  const TrafficSample sample = RandomTraffic(1, 999, 10);
  const auto rules = ImpactRules(PerKey(1));
  const ImpactResult result = EvaluateImpact(sample, *rules, *rules);
  EXPECT_FALSE(result.impact);
  EXPECT_THAT(result.unavailable_reason, HasSubstr("999 calls"));
  EXPECT_THAT(result.unavailable_reason, HasSubstr("at least 1000"));
}

TEST(ImpactTest, ManyNodesAreReplayedWithFewerCallers) {
  const TrafficSample sample = RandomTraffic(3, 5000, 1000);
  ASSERT_EQ(sample.share_divisor(), 1U);
  const auto before = ImpactRules(PerKey(100'000));
  const auto after = ImpactRules(PerKey(1));
  const ImpactResult result =
      EvaluateImpact(sample, *before, *after, {.nodes = 20, .max_replayed_calls = 60'000});
  ASSERT_TRUE(result.impact) << result.unavailable_reason;
  EXPECT_LE(result.impact->replayed_calls, 60'000U);
  EXPECT_LT(result.impact->share, 1.0);
  EXPECT_EQ(result.impact->replayed_calls, 20 * result.impact->calls);
}

TEST(ImpactTest, ConcurrencyLimitsAreLeftOutBecauseDurationsAreUnknown) {
  const TrafficSample sample = RandomTraffic(2, 2000, 5);
  const auto before = ImpactRules(PerKey(100'000));
  const auto after =
      ImpactRules("  - {id: c, per: api_key, algorithm: concurrency, limit: 1, ttl: 60}\n");
  const ImpactResult result = EvaluateImpact(sample, *before, *after);
  ASSERT_TRUE(result.impact) << result.unavailable_reason;
  EXPECT_EQ(result.impact->newly_denied_calls, 0U);
  EXPECT_TRUE(result.impact->approximate);
}

}  // namespace
}  // namespace sluice::simulate

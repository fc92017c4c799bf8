#include "simulate/traffic_sampler.h"

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::simulate {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr WallTime kSamplerStart{seconds(1'800'000'000)};

std::vector<std::pair<std::string, std::string>> AttributesOf(const TrafficSample& sample,
                                                              std::size_t index) {
  SampledCall call;
  sample.Read(index, call);
  std::vector<std::pair<std::string, std::string>> found;
  for (const Attribute& attribute : call.row.attributes) {
    found.emplace_back(attribute.name, attribute.value);
  }
  return found;
}

std::string ValueOf(const SampledCall& call, std::string_view name) {
  for (const Attribute& attribute : call.row.attributes) {
    if (attribute.name == name) return std::string(attribute.value);
  }
  return {};
}

TEST(TrafficSamplerTest, ACallIsReadAsItWasRecorded) {
  TrafficSampler sampler({}, 1, kSamplerStart);
  LoopTrafficSampler& loop = *sampler.AddLoop();
  EXPECT_EQ(sampler.AddLoop(), nullptr);
  const std::vector<Attribute> attributes{
      {"ip", "192.0.2.1"}, {"endpoint", "/v1/a"}, {"empty", ""}, {"user", "u"}};
  loop.Record(attributes, 3, kSamplerStart + seconds(5));
  loop.Record({}, 1, kSamplerStart + seconds(5));
  const TrafficSample sample = sampler.Take(kSamplerStart + seconds(6));
  ASSERT_EQ(sample.calls(), 1U);
  SampledCall call;
  sample.Read(0, call);
  EXPECT_EQ(call.row.time, kSamplerStart + seconds(5));
  EXPECT_EQ(call.row.cost, 3);
  EXPECT_THAT(AttributesOf(sample, 0),
              ElementsAre(Pair("ip", "192.0.2.1"), Pair("endpoint", "/v1/a"), Pair("user", "u")));
  EXPECT_EQ(sample.share_divisor(), 1U);
  EXPECT_EQ(sample.begin(), kSamplerStart);
  EXPECT_EQ(sample.span(), seconds(6));
}

TEST(TrafficSamplerTest, CallsOlderThanTheSpanAreNotInTheSample) {
  TrafficSampler sampler({.max_span = minutes(1)}, 1, kSamplerStart);
  LoopTrafficSampler& loop = *sampler.AddLoop();
  const std::vector<Attribute> attributes{{"api_key", "k"}};
  for (int second = 0; second < 300; ++second) {
    loop.Record(attributes, second, kSamplerStart + seconds(second));
  }
  const TrafficSample sample = sampler.Take(kSamplerStart + seconds(300));
  EXPECT_EQ(sample.calls(), 60U);
  EXPECT_EQ(sample.span(), minutes(1));
}

TEST(TrafficSamplerTest, CallsOfAllLoopsAreInTheOrderOfTheirTimes) {
  TrafficSampler sampler({}, 2, kSamplerStart);
  LoopTrafficSampler* const loops[] = {sampler.AddLoop(), sampler.AddLoop()};
  const std::vector<Attribute> attributes{{"api_key", "k"}};
  for (int i = 0; i < 10; ++i) {
    loops[i % 2]->Record(attributes, i + 1, kSamplerStart + seconds(i));
  }
  const TrafficSample sample = sampler.Take(kSamplerStart + seconds(10));
  ASSERT_EQ(sample.calls(), 10U);
  SampledCall call;
  for (std::size_t i = 0; i < 10; ++i) {
    sample.Read(i, call);
    EXPECT_EQ(call.row.cost, static_cast<std::int64_t>(i + 1));
  }
}

TEST(TrafficSamplerTest, LongValuesAreCutAndKeysAreKeptWhateverElseACallHas) {
  TrafficSampler sampler({}, 1, kSamplerStart);
  LoopTrafficSampler& loop = *sampler.AddLoop();
  const std::string huge(100'000, 'x');
  std::vector<Attribute> attributes{{huge, "v"}};
  for (int i = 0; i < 100; ++i) attributes.push_back({"a", huge});
  attributes.push_back({"api_key", "k"});
  attributes.push_back({"ip", huge});
  loop.Record(attributes, 1, kSamplerStart);
  const TrafficSample sample = sampler.Take(kSamplerStart);
  ASSERT_EQ(sample.calls(), 1U);
  const auto found = AttributesOf(sample, 0);
  ASSERT_GE(found.size(), 3U);
  EXPECT_THAT(found[0], Pair("api_key", "k"));
  EXPECT_THAT(found[1], Pair("ip", std::string(kMaxSampledValue, 'x')));
  EXPECT_THAT(found[2], Pair("a", std::string(kMaxSampledValue, 'x')));
}

// What was sent, so that a sample can be compared with it.
class Traffic {
 public:
  explicit Traffic(TrafficSampler& sampler, std::size_t loops) : sampler_(sampler) {
    for (std::size_t i = 0; i < loops; ++i) loops_.push_back(sampler.AddLoop());
  }

  void Call(std::size_t loop, const std::string& key, WallTime now) {
    const std::vector<Attribute> attributes{{"api_key", key}, {"endpoint", "/v1/orders"}};
    loops_[loop]->Record(attributes, 1, now);
    sent_.emplace_back(now, key);
  }

  // Checks that the sample has all calls of a caller within its span, or none.
  void ExpectWholeCallers(WallTime now) const {
    const TrafficSample sample = sampler_.Take(now);
    std::map<std::string, std::size_t> sampled;
    SampledCall call;
    for (std::size_t i = 0; i < sample.calls(); ++i) {
      sample.Read(i, call);
      ++sampled[ValueOf(call, "api_key")];
    }
    std::map<std::string, std::size_t> sent;
    std::size_t callers = 0;
    for (const auto& [time, key] : sent_) {
      if (time < sample.begin() || time > now) continue;
      callers += sent[key]++ == 0 ? 1 : 0;
    }
    for (const auto& [key, calls] : sampled) {
      ASSERT_EQ(calls, sent[key]) << key << " at one in " << sample.share_divisor();
    }
    // At a share of 1 all callers are there.
    if (sample.share_divisor() == 1) {
      ASSERT_EQ(sampled.size(), callers);
    }
  }

 private:
  TrafficSampler& sampler_;
  std::vector<LoopTrafficSampler*> loops_;
  std::vector<std::pair<WallTime, std::string>> sent_;
};

TEST(TrafficSamplerTest, ASampleHasAllCallsOfACallerOrNone) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t loops = 1 + random() % 3;
    TrafficSampler sampler({.max_calls = 300, .max_span = minutes(1), .max_bytes = 1 << 16}, loops,
                           kSamplerStart);
    Traffic traffic(sampler, loops);
    WallTime now = kSamplerStart;
    for (int phase = 0; phase < 12; ++phase) {
      // From silence to far more than fits.
      const auto step = Micros(std::int64_t{1} << (12 + random() % 10));
      const std::size_t callers = 1 + random() % 200;
      for (int i = 0; i < 500; ++i) {
        now += step;
        traffic.Call(random() % loops, "key" + std::to_string(random() % callers), now);
      }
      traffic.ExpectWholeCallers(now);
      if (random() % 4 == 0) now += minutes(random() % 3);
    }
  }
}

TEST(TrafficSamplerTest, AnEmptySampleHasTheShareInUse) {
  // A single caller that overfills the ring is, sooner or later, outside of the share.
  TrafficSampler sampler({.max_calls = 100, .max_span = minutes(1)}, 1, kSamplerStart);
  LoopTrafficSampler& loop = *sampler.AddLoop();
  WallTime now = kSamplerStart;
  for (int round = 0; round < 100; ++round) {
    const std::vector<Attribute> attributes{{"api_key", "k"}};
    for (int i = 0; i < 200; ++i) {
      now += Micros(1000);
      loop.Record(attributes, 1, now);
      const TrafficSample sample = sampler.Take(now);
      if (sample.calls() != 0) continue;
      EXPECT_GT(sample.share_divisor(), 1U);
      return;
    }
  }
  FAIL() << "the sample was never empty";
}

TEST(TrafficSamplerTest, TheShareFollowsTheTraffic) {
  TrafficSampler sampler({.max_calls = 1000, .max_span = minutes(16)}, 1, kSamplerStart);
  Traffic traffic(sampler, 1);
  WallTime now = kSamplerStart;
  // 100 calls a second of 500 callers: 96 times more than fits.
  for (int i = 0; i < 200'000; ++i) {
    now += Micros(10'000);
    traffic.Call(0, "key" + std::to_string(i * 7919 % 500), now);
  }
  const TrafficSample busy = sampler.Take(now);
  EXPECT_GE(busy.share_divisor(), 16U);
  EXPECT_LE(busy.calls(), 1000U);
  // One call in ten seconds: 96 fit easily.
  for (int i = 0; i < 600; ++i) {
    now += seconds(10);
    traffic.Call(0, "key" + std::to_string(i % 50), now);
  }
  const TrafficSample quiet = sampler.Take(now);
  EXPECT_EQ(quiet.share_divisor(), 1U);
  EXPECT_EQ(quiet.span(), minutes(16));
  EXPECT_GE(quiet.calls(), 95U);
}

TEST(TrafficSamplerTest, HostileStreamsStayWithinTheBounds) {
  std::mt19937_64 random(7);
  constexpr std::size_t kBytes = 1 << 18;
  TrafficSampler sampler({.max_calls = 2000, .max_bytes = kBytes}, 2, kSamplerStart);
  LoopTrafficSampler* const loops[] = {sampler.AddLoop(), sampler.AddLoop()};
  EXPECT_LE(loops[0]->max_bytes() + loops[1]->max_bytes(), kBytes);
  WallTime now = kSamplerStart;
  for (int i = 0; i < 100'000; ++i) {
    now += Micros(random() % 1000);
    const std::string key = "random" + std::to_string(random());
    const std::string value(random() % 3000, 'v');
    const std::vector<Attribute> attributes{{"api_key", key}, {"endpoint", value}, {value, key}};
    loops[i % 2]->Record(attributes, 1, now);
    if (i % 10'000 == 0) {
      const TrafficSample sample = sampler.Take(now);
      ASSERT_LE(sample.calls(), 2000U);
    }
  }
  EXPECT_GT(sampler.Take(now).calls(), 0U);
}

TEST(TrafficSamplerTest, AClockThatWasSetBackBeginsANewSample) {
  TrafficSampler sampler({}, 1, kSamplerStart);
  LoopTrafficSampler& loop = *sampler.AddLoop();
  const std::vector<Attribute> attributes{{"api_key", "k"}};
  loop.Record(attributes, 1, kSamplerStart + minutes(5));
  loop.Record(attributes, 2, kSamplerStart + minutes(2));
  loop.Record(attributes, 3, kSamplerStart + minutes(3));
  const TrafficSample sample = sampler.Take(kSamplerStart + minutes(3));
  ASSERT_EQ(sample.calls(), 1U);  // What has the time of the step may not be all.
  EXPECT_EQ(sample.begin(), kSamplerStart + minutes(2) + Micros(1));
}

TEST(TrafficSamplerTest, ACopyIsConsistentWhileLoopsWrite) {
  TrafficSampler sampler({.max_calls = 500, .max_bytes = 1 << 16}, 2, kSamplerStart);
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> latest{0};
  std::vector<std::thread> writers;
  for (int w = 0; w < 2; ++w) {
    LoopTrafficSampler* const loop = sampler.AddLoop();
    writers.emplace_back([&, loop, w] {
      for (std::int64_t i = 1; !stop; ++i) {
        // The parts of a call belong together.
        const std::string text = std::to_string(i);
        const std::string user = text + std::string(static_cast<std::size_t>(i % 50), 'u');
        const std::vector<Attribute> attributes{{"api_key", text}, {"user", user}};
        loop->Record(attributes, i, kSamplerStart + Micros(i));
        if (w == 0) latest = i;
      }
    });
  }
  while (latest < 1000) std::this_thread::yield();
  SampledCall call;
  for (int round = 0; round < 200; ++round) {
    const TrafficSample sample = sampler.Take(kSamplerStart + minutes(10));
    ASSERT_LE(sample.calls(), 500U);
    WallTime previous{};
    for (std::size_t i = 0; i < sample.calls(); ++i) {
      sample.Read(i, call);
      ASSERT_GE(call.row.time, previous);
      previous = call.row.time;
      const std::string text = std::to_string(call.row.cost);
      ASSERT_EQ(ValueOf(call, "api_key"), text);
      ASSERT_EQ(ValueOf(call, "user"),
                text + std::string(static_cast<std::size_t>(call.row.cost % 50), 'u'));
    }
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace sluice::simulate

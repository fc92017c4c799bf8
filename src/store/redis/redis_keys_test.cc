#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "algo/testing/choices.h"
#include "redis/slot.h"
#include "store/redis/check_script.h"
#include "store/redis/testing/store_fixture.h"

namespace sluice::store::testing {
namespace {

using algo::testing::RandomChoices;
using algo::testing::TestSeeds;
using ::testing::EndsWith;

// ---- Names.

// A key with all that it points to, made as rules make it.
struct OwnedKey {
  std::string scope, tag, rest;

  [[nodiscard]] std::string InRedis() const {
    std::string name;
    AppendRedisKey({.scope = scope, .tag = tag, .rest = rest}, name);
    return name;
  }
};

std::string Encoded(std::string_view bytes) {
  std::string out;
  AppendPercentEncoded(bytes, out);
  return out;
}

// What Redis Cluster hashes of a key: what stands between the first '{' and the first '}' after it,
// or, if there is nothing between them, everything.
std::string_view HashedPart(std::string_view key) {
  const auto open = key.find('{');
  if (open == std::string_view::npos) return key;
  const auto close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

// Bytes that mean something to somebody, few enough that keys nearly collide.
std::string HostileBytes(RandomChoices& choices) {
  if (choices.OneIn(500)) return std::string(4096, choices.OneOf({'{', 'a', '\0', '%'}));
  static const std::vector<std::string> kPieces = {
      "{", "}", ":", "%", "%7B", "%3A", "\n", "\r\n", std::string(1, '\0'), "a", "é", "\xff", " "};
  std::string bytes;
  for (std::uint64_t left = choices.Below(4); left > 0; --left) {
    bytes += kPieces[choices.Below(kPieces.size())];
  }
  return bytes;
}

OwnedKey AnyKey(RandomChoices& choices) {
  OwnedKey key{.scope = Encoded(HostileBytes(choices)) + ":" + Encoded(HostileBytes(choices)),
               .tag = HostileBytes(choices),
               .rest = {}};
  std::vector<std::string> values(choices.Below(3));
  for (std::string& value : values) value = HostileBytes(choices);
  AppendEncodedValues(std::vector<std::string_view>(values.begin(), values.end()), key.rest);
  return key;
}

TEST(RedisKeysTest, AKeyNamesItsTagItsScopeAndTheRest) {
  EXPECT_EQ((OwnedKey{"api:per_user", "alice", "eu:mobile"}).InRedis(),
            "sluice:v1:{alice}:api:per_user:eu:mobile");
  EXPECT_EQ((OwnedKey{"api:per_user", "a}{b:c\n%", ""}).InRedis(),
            "sluice:v1:{a%7D%7Bb%3Ac%0A%25}:api:per_user:");
}

TEST(RedisKeysTest, DifferentKeysHaveDifferentNamesAndTagsChooseTheSlot) {
  constexpr int kKeys = 100'000;
  for (const std::uint64_t seed : TestSeeds(1)) {
    RandomChoices choices(seed);
    std::map<std::string, std::tuple<std::string, std::string, std::string>> seen;
    for (int i = 0; i < kKeys; ++i) {
      const OwnedKey key = AnyKey(choices);
      const std::string name = key.InRedis();
      const auto parts = std::tuple(key.scope, key.tag, key.rest);
      const auto [it, is_new] = seen.emplace(name, parts);
      ASSERT_EQ(it->second, parts) << name << "\nseed " << seed;
      const std::string hashed = key.tag.empty() ? name : Encoded(key.tag);
      ASSERT_EQ(HashedPart(name), hashed) << "\nseed " << seed;
    }
  }
}

TEST(RedisKeysTest, WithoutATagTheWholeNameChoosesTheSlot) {
  // "{}" is no hash tag to Redis, so such keys spread over the cluster, and nothing in `rest`
  // changes that: only the first brace counts.
  std::string rest;
  AppendEncodedValues(std::array<std::string_view, 1>{"{here}"}, rest);
  const std::string name = OwnedKey{"api:all", "", rest}.InRedis();
  EXPECT_EQ(name, "sluice:v1:{}:api:all:%7Bhere%7D");
  EXPECT_EQ(HashedPart(name), name);
}

TEST(RedisKeysTest, SettledReceiptsAreASeparateKeyInTheSameSlot) {
  constexpr int kKeys = 20'000;
  for (const std::uint64_t seed : TestSeeds(1)) {
    RandomChoices choices(seed);
    std::map<std::string, std::string> seen;
    for (int i = 0; i < kKeys; ++i) {
      const OwnedKey key = AnyKey(choices);
      const std::string name = key.InRedis();
      std::string marks;
      AppendMarksKey({.scope = key.scope, .tag = key.tag, .rest = key.rest}, marks);
      ASSERT_EQ(redis::SlotOf(marks), redis::SlotOf(name)) << marks << "\nseed " << seed;
      ASSERT_TRUE(marks.starts_with("sluice:v1:")) << marks;
      ASSERT_THAT(marks, EndsWith("#settled"));
      ASSERT_EQ(seen.emplace(marks, name).first->second, name) << "\nseed " << seed;
    }
  }
}

class RedisValuesTest : public RealRedisTest {
 protected:
  // Redis' inline commands know C's escapes.
  static std::string Quoted(std::string_view bytes) {
    std::string out = "\"";
    for (const char byte : bytes) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\x%02x", static_cast<unsigned char>(byte));
      out += escape.data();
    }
    return out + "\"";
  }

  std::int64_t Number(const std::string& command) { return server_.Do(command).value().integer(); }
};

TEST_F(RedisValuesTest, HostileTagsAreKeptApartByRedis) {
  const Limit limit = SlowBucket(100);
  const std::vector<std::string> tags = {"",
                                         "{",
                                         "}",
                                         "{}",
                                         "a",
                                         "{a}",
                                         "a}",
                                         "%61",
                                         ":",
                                         "a:rule:limit:",
                                         "\n",
                                         "\r\n",
                                         std::string(1, '\0'),
                                         std::string("a\0b", 3),
                                         "é",
                                         "\xff\xfe",
                                         std::string(4096, '{')};
  Asker asker(loop_, server_.ClientOptions());
  for (int round = 1; round <= 2; ++round) {
    for (const std::string& tag : tags) {
      const Asked& asked = asker.RunCheck(limit, tag);
      ASSERT_TRUE(asked.allowed());
      EXPECT_EQ(asked.uses[0].verdict.remaining, 100 - round) << Encoded(tag);
    }
  }
  EXPECT_EQ(Number("DBSIZE"), static_cast<std::int64_t>(tags.size()));
  for (const std::string& tag : tags) {
    EXPECT_EQ(Number("EXISTS " + Quoted(RedisKeyOf(tag))), 1) << Encoded(tag);
  }
}

TEST_F(RedisValuesTest, RedisHashesTheEncodedTag) {
  // By default the bus is 10000 ports above, where there may be none.
  const std::string bus = "cluster-port " + std::to_string(redis::testing::FreePort());
  redis::testing::RedisServer cluster({.config = {"cluster-enabled yes", bus}});
  for (const std::string tag : {"a", "}{", "{x}", "a:b", "\n"}) {
    EXPECT_EQ(cluster.Do("CLUSTER KEYSLOT " + RedisKeyOf(tag)).value().integer(),
              cluster.Do("CLUSTER KEYSLOT " + Encoded(tag)).value().integer());
  }
}

// ---- What is stored, and for how long.

TEST_F(RedisValuesTest, SettledReceiptsExpireWithTheLastOfThem) {
  const Limit limit = SlowBucket(100);
  Asker asker(loop_, server_.ClientOptions());
  KeyUse use = asker.RunCheck(limit, "tag", 10).uses[0];
  use.cost = 4;
  const WallTime now = TheSystemClock().Now();
  std::uint64_t receipt = 0;
  for (const seconds life : {seconds(3600), seconds(600), seconds(-1)}) {
    Settlement settlement{.receipt = ++receipt, .expires = now + life};
    use.settlement = &settlement;
    Asked& asked = asker.Submit(Operation::kAdjust, use, "tag");
    ASSERT_TRUE(asker.WaitForAll());
    EXPECT_TRUE(asked.call.ok);
    asked.uses[0].settlement = nullptr;
  }
  EXPECT_EQ(asker.Used(limit, "tag"), 0) << "two receipts of 10 were settled at 4";
  std::string marks;
  AppendMarksKey({.scope = kScope, .tag = "tag", .rest = {}}, marks);
  EXPECT_EQ(Number("ZCARD " + Quoted(marks)), 2) << "the third had expired";
  const std::int64_t ttl = Number("PTTL " + Quoted(marks));
  EXPECT_GT(ttl, 3'500'000);
  EXPECT_LE(ttl, 3'600'000);
}

TEST_F(RedisValuesTest, AForeignValueInPlaceOfSettledReceiptsIsNotChanged) {
  const Limit limit = SlowBucket(100);
  Asker asker(loop_, server_.ClientOptions());
  KeyUse use = asker.RunCheck(limit, "tag", 10).uses[0];
  std::string marks;
  AppendMarksKey({.scope = kScope, .tag = "tag", .rest = {}}, marks);
  Do("SET " + Quoted(marks) + " theirs");
  Settlement settlement{.receipt = 1, .expires = TheSystemClock().Now() + seconds(60)};
  use.settlement = &settlement;
  use.cost = 0;
  Asked& asked = asker.Submit(Operation::kAdjust, use, "tag");
  ASSERT_TRUE(asker.WaitForAll());
  EXPECT_EQ(asked.call.error, ErrorCode::kForeignValue);
  EXPECT_EQ(asker.Used(limit, "tag"), 10);
}

struct Sample {
  const char* name;
  Limit limit;
};

// Each allows 10.
std::vector<Sample> Samples() {
  return {{"token bucket", *Limit::TokenBucket({.capacity = 10, .refill = Rate::PerMinute(7)})},
          {"leaky bucket", *Limit::LeakyBucket({.capacity = 10, .leak = Rate::PerMinute(7)})},
          {"fixed window",
           *Limit::FixedWindow({.limit = 10, .window = seconds(100), .anchor = Anchor::kFirstHit})},
          {"sliding log", *Limit::SlidingWindowLog({.limit = 10, .window = seconds(100)})},
          {"sliding counter", *Limit::SlidingWindowCounter({.limit = 10, .window = kMaxWindow})},
          {"concurrency", *Limit::Concurrency({.limit = 10, .time_to_live = seconds(100)})}};
}

std::int64_t MillisecondsRoundedUp(Micros time) { return (time.count() + 999) / 1000; }

TEST_F(RedisValuesTest, AKeyLivesUntilItIsFresh) {
  Asker asker(loop_, server_.ClientOptions());
  for (const auto& [name, limit] : Samples()) {
    const Asked& asked = asker.RunCheck(limit, name);
    ASSERT_TRUE(asked.allowed()) << name;
    const std::int64_t left = Number("PTTL " + RedisKeyOf(name));
    const std::int64_t reset = MillisecondsRoundedUp(asked.uses[0].verdict.reset_after);
    EXPECT_GT(left, 0) << name;
    EXPECT_LE(left, reset + 1) << name;
    EXPECT_GT(left, reset - 5000) << name;
  }
}

TEST_F(RedisValuesTest, NoKeyExpiresBeforeItIsFresh) {
  const Limit limit = *Limit::TokenBucket({.capacity = 1000, .refill = Rate::PerSecond(1)});
  Asker asker(loop_, server_.ClientOptions());
  for (int i = 0; i < 500; ++i) {
    const std::string name = "key" + std::to_string(i);
    const Asked& asked = asker.RunCheck(limit, name);
    ASSERT_TRUE(asked.allowed());
    // Redis lets a key go once its clock shows a later millisecond than this.
    const Micros last = milliseconds(Number("PEXPIRETIME " + RedisKeyOf(name)) + 1);
    const WallTime fresh = asked.uses[0].receipt.at + asked.uses[0].verdict.reset_after;
    ASSERT_GE(last, fresh.time_since_epoch()) << i;
    asker.Clear();
  }
}

TEST_F(RedisValuesTest, AtAHundredMillionPerSecondKeysStillExpire) {
  const Limit limit =
      *Limit::TokenBucket({.capacity = 1'000'000, .refill = Rate::PerSecond(100'000'000)});
  Asker asker(loop_, server_.ClientOptions());
  for (const std::int64_t cost : {1, 99, 100, 101, 1'000'000}) {
    const std::string name = "cost" + std::to_string(cost);
    const Asked& asked = asker.RunCheck(limit, name, cost);
    ASSERT_TRUE(asked.allowed());
    EXPECT_GT(asked.uses[0].verdict.reset_after, Micros{0});
    const std::int64_t left = Number("PTTL " + RedisKeyOf(name));
    EXPECT_NE(left, -1) << "without a time to live";
    EXPECT_LE(left, MillisecondsRoundedUp(asked.uses[0].verdict.reset_after) + 1);
  }
  EXPECT_TRUE(asker.RunUntil([&] { return Number("DBSIZE") == 0; })) << "Redis collects them";
}

TEST_F(RedisValuesTest, ADenialChangesNeitherTheValueNorItsTimeToLive) {
  Asker asker(loop_, server_.ClientOptions());
  for (const auto& [name, limit] : Samples()) {
    const std::string key = RedisKeyOf(name);
    ASSERT_TRUE(asker.RunCheck(limit, name, 10).allowed()) << name;
    const std::string value = Do("DUMP " + key);
    const std::int64_t expiry = Number("PEXPIRETIME " + key);
    const std::string writes = Do("OBJECT ENCODING " + key);
    for (int i = 0; i < 20; ++i) {
      const Asked& denied = asker.RunCheck(limit, name, 10);
      ASSERT_TRUE(denied.call.ok && !denied.call.allowed) << name;
    }
    EXPECT_EQ(Do("DUMP " + key), value) << name;
    EXPECT_EQ(Number("PEXPIRETIME " + key), expiry) << name;
    EXPECT_EQ(Do("OBJECT ENCODING " + key), writes) << name;
  }
}

TEST_F(RedisValuesTest, DryRunsAndDenialsWriteNothing) {
  Asker asker(loop_, server_.ClientOptions());
  // Redis counts every change since it last saved.
  const auto changes = [&] {
    const resp::Reply reply = server_.Do("INFO persistence");
    const std::string text(reply.value().text());
    constexpr std::string_view kName = "rdb_changes_since_last_save:";
    const auto at = text.find(kName);
    EXPECT_NE(at, std::string::npos);
    return std::strtoll(text.c_str() + at + kName.size(), nullptr, 10);
  };
  for (const auto& [name, limit] : Samples()) asker.RunCheck(limit, name, 10);
  const auto before = changes();
  const std::int64_t keys = Number("DBSIZE");
  for (const auto& [name, limit] : Samples()) {
    const std::string unseen = std::string(name) + " unseen";
    EXPECT_FALSE(asker.RunCheck(limit, name, 10).call.allowed) << name;
    EXPECT_FALSE(asker.RunCheck(limit, unseen, 11).call.allowed) << name;
    EXPECT_FALSE(asker.Run(Operation::kCheck, limit, {unseen, name}, 10).call.allowed) << name;
    EXPECT_TRUE(asker.Run(Operation::kPeek, limit, {unseen}, 10).allowed()) << name;
    EXPECT_TRUE(asker.RunCheck(limit, unseen, 0).allowed()) << name;
    asker.Used(limit, name);
    asker.Used(limit, unseen);
    EXPECT_EQ(changes(), before) << name;
  }
  EXPECT_EQ(Number("DBSIZE"), keys);
}

// ---- The script by hand, as scripts/README.md shows it.

std::pair<int, std::string> RunProgram(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, ""};
  std::string output;
  std::array<char, 4096> bytes{};
  while (const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), pipe)) {
    output.append(bytes.data(), got);
  }
  return {WEXITSTATUS(pclose(pipe)), output};
}

TEST_F(RedisValuesTest, TheScriptAnswersRedisCli) {
  if (RunProgram("redis-cli --version 2>&1").first != 0) {
    GTEST_SKIP() << "redis-cli is not installed: the script was not tried by hand";
  }
  const std::string file = (server_.folder() / "check.lua").string();
  std::ofstream(file) << kCheckScript;
  const std::string cli = "redis-cli -p " + std::to_string(server_.port()) + " --eval " + file;
  const std::string check = cli + " somekey , 1700000000000000 'C1*1' t,10,1,100000,1 1 ";
  // A plain check: the time, and what was left of 10 tokens of 100000 units each.
  EXPECT_EQ(RunProgram(check + "'' 2>&1").second, "1700000000000000\n1000000\n");
  EXPECT_EQ(RunProgram(check + "'' 2>&1").second, "1700000000000000\n900000\n");
  for (int i = 0; i < 8; ++i) RunProgram(check + "''");
  EXPECT_EQ(RunProgram(check + "'' 2>&1").second, "1700000000000000\n0\n");
  // One with particulars: allowed; outcome, left, grant, retry, reset, delay, amount, from_grant,
  // at, grant_expires.
  EXPECT_EQ(RunProgram(check + "e-,0,0,0,0 2>&1").second,
            "0\n1\n0\n0\n100000\n1000000\n0\n0\n0\n-1\n0\n");

  const auto by_redis_clock = RunProgram(cli + " other , '' 'C1*1' t,10,1,100000,1 1 '' 2>&1");
  EXPECT_THAT(by_redis_clock.second, EndsWith("\n1000000\n"));
}

}  // namespace
}  // namespace sluice::store::testing

// How much Redis has to do for one script call, counted in commands and in the elements of their
// replies.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "redis/client.h"
#include "resp/encoder.h"
#include "store/redis/check_script.h"
#include "store/redis/message.h"
#include "store/redis/testing/store_fixture.h"

namespace sluice::store::testing {
namespace {

constexpr std::int64_t kEntries = 100'000;
constexpr Micros kBetween{1000};
constexpr Micros kWindow = std::chrono::hours(1);
constexpr WallTime kBegin{std::chrono::hours(24) * 20'000};
constexpr WallTime kFilled = kBegin + kEntries * kBetween;

std::int64_t CostOf(std::int64_t entry) { return 1 + entry % 5; }

constexpr std::int64_t kUsed = 3 * kEntries;
constexpr std::int64_t kAdopting = kEntries / 256 + 2;

// Returns what the script did instead of what it says.
std::string Counting(std::string_view script) {
  return "local steps, real = 0, redis\n"
         "local function count(call) return function(...)\n"
         "  local reply = call(...)\n"
         "  steps = steps + 1 + (type(reply) == 'table' and #reply or 0)\n"
         "  return reply\n"
         "end end\n"
         "local counting = setmetatable({call = count(redis.call), pcall = count(redis.pcall)},\n"
         "  {__index = real})\n"
         "local function script(redis)\n" +
         std::string(script) +
         "\nend\n"
         "local answer = script(counting)\n"
         "if type(answer) == 'table' and answer.err then return answer end\n"
         "return steps\n";
}

class RedisWorkTest : public RealRedisTest {
 protected:
  RedisWorkTest()
      : client_(loop_, server_.ClientOptions()),
        asker_(loop_, server_.ClientOptions(),
               RedisStoreOptions{.deadline = seconds(60), .use_time_of_calls = true}) {}

  std::string Evaluate(std::string_view script, std::initializer_list<std::string> arguments) {
    std::string command;
    resp::AppendArrayHeader(command, 2 + arguments.size());
    resp::AppendBulk(command, "EVAL");
    resp::AppendBulk(command, script);
    for (const std::string& argument : arguments) resp::AppendBulk(command, argument);
    return Send(command);
  }

  std::string Send(const std::string& command) {
    std::string said;
    client_.Send(command, SteadyClock::Now() + seconds(60), [&](const redis::Answer& answer) {
      said = answer ? Describe(answer.reply()) : answer.error().message;
    });
    loop_.RunUntil([&] { return !said.empty(); }, SteadyClock::Now() + seconds(60));
    return said;
  }

  // A set as programs wrote it that know nothing of blocks.
  void FillAsBefore(std::string_view kind) {
    const bool is_log = kind == "log";
    const WallTime first = is_log ? kBegin : kBegin + kWindow;
    const std::string reply = Evaluate(
        "for i = 0, ARGV[1] - 1 do\n"
        "  local at = string.format('%.0f', ARGV[2] + i * ARGV[3])\n"
        "  local name = ARGV[4] == 'log' and at or string.format('%.0f', i + 1)\n"
        "  redis.call('ZADD', KEYS[1], at, name .. ':' .. (1 + i % 5))\n"
        "end\n"
        "redis.call('ZADD', KEYS[1], -ARGV[5], ARGV[4], '-' .. ARGV[6], 'fresh', '-0.5', 'grant')\n"
        "return 1",
        {"1", RedisKeyOf("key"), std::to_string(kEntries),
         std::to_string(first.time_since_epoch().count()), std::to_string(kBetween.count()),
         std::string(kind), std::to_string(kUsed),
         std::to_string((kFilled + kWindow).time_since_epoch().count())});
    ASSERT_EQ(reply, "1");
  }

  // Calls that take one each, until the set has blocks everywhere.
  void Adopt(const Limit& limit) {
    for (std::int64_t i = 0; i < kAdopting; ++i) {
      asker_.Submit(Operation::kCheck, Of(limit, 1), "key", kFilled);
    }
    ASSERT_TRUE(asker_.WaitForAll());
    asker_.Clear();
  }

  std::int64_t StepsOf(Operation operation, KeyUse use, WallTime now) {
    use.key = {.scope = kScope, .tag = "key", .rest = {}};
    StoreCall call{.operation = operation, .uses = {&use, 1}, .now = now};
    StoreCall* const calls[] = {&call};
    std::string request;
    AppendRequest(calls, ScriptForm::kText, now, request);
    std::string plain;
    resp::AppendBulk(plain, kCheckScript);
    std::string counting;
    resp::AppendBulk(counting, Counting(kCheckScript));
    request.replace(request.find(plain), plain.size(), counting);
    const std::string said = Send(request);
    EXPECT_TRUE(std::all_of(said.begin(), said.end(), [](char c) { return c >= '0' && c <= '9'; }))
        << said;
    return std::atoll(said.c_str());
  }

  static KeyUse Of(const Limit& limit, std::int64_t cost, std::uint64_t slot = 0) {
    KeyUse use;
    use.limit = &limit;
    use.cost = cost;
    use.slot = slot;
    return use;
  }

  Verdict Ask(Operation operation, const KeyUse& use, WallTime now) {
    Asked& asked = asker_.Submit(operation, use, "key", now);
    EXPECT_TRUE(asker_.WaitForAll());
    EXPECT_TRUE(asked.call.ok) << ErrorName(asked.call.error);
    affected_ = asked.call.affected;
    return asked.uses[0].verdict;
  }

  // When so much has been given back of what was taken first: `missing` of it.
  static Micros WhenFree(std::int64_t missing) {
    std::int64_t entry = 0;
    for (std::int64_t left = missing; (left -= CostOf(entry)) > 0;) ++entry;
    return kBegin + entry * kBetween + kWindow - kFilled;
  }

  const Limit log_ = *Limit::SlidingWindowLog({.limit = kUsed + 100'000, .window = kWindow});
  const Limit slots_ = *Limit::Concurrency({.limit = kUsed + 100'000, .time_to_live = kWindow});
  redis::Client client_;
  Asker asker_;
  std::size_t affected_ = 0;
};

TEST_F(RedisWorkTest, ASlotIsFoundInFewStepsAmongAHundredThousandOrIsNot) {
  FillAsBefore("slots");
  Adopt(slots_);
  constexpr std::int64_t kFew = 80;
  constexpr std::uint64_t kUnknown = 777'777'777;
  EXPECT_LT(StepsOf(Operation::kRelease, Of(slots_, 1, kUnknown), kFilled), kFew);
  EXPECT_LT(StepsOf(Operation::kRenew, Of(slots_, 1, kUnknown), kFilled), kFew);
  EXPECT_LT(StepsOf(Operation::kCheck, Of(slots_, 1, kUnknown), kFilled), kFew);
  // One that costs several, in the middle of all.
  constexpr std::uint64_t kHeld = kEntries / 2 + 4;
  EXPECT_LT(StepsOf(Operation::kRenew, Of(slots_, 1, kHeld), kFilled), kFew);
  EXPECT_LT(StepsOf(Operation::kRelease, Of(slots_, 1, kHeld), kFilled), kFew);
  Ask(Operation::kRelease, Of(slots_, 1, kHeld), kFilled);
  EXPECT_EQ(affected_, 0U) << "it was released before";
}

TEST_F(RedisWorkTest, TheWaitOfACostlyCallIsFoundInFewSteps) {
  constexpr std::int64_t kFew = 400;
  for (const Limit* limit : {&log_, &slots_}) {
    Do("FLUSHALL");
    FillAsBefore(limit == &log_ ? "log" : "slots");
    Adopt(*limit);
    const std::int64_t left = Ask(Operation::kPeek, Of(*limit, 0), kFilled).remaining;
    for (const std::int64_t missing : {1, 1000, 100'000, 200'000, 295'000}) {
      const KeyUse use = Of(*limit, left + missing);
      EXPECT_LT(StepsOf(Operation::kPeek, use, kFilled), kFew);
      EXPECT_EQ(Ask(Operation::kPeek, use, kFilled).retry_after, WhenFree(missing)) << missing;
    }
  }
}

TEST_F(RedisWorkTest, ExpiredEntriesAreErasedAFewAtATime) {
  constexpr std::int64_t kFew = 500;
  FillAsBefore("log");
  Adopt(log_);
  // Only the last 20 000 entries still count, and what was taken meanwhile.
  const WallTime later = kFilled + kWindow - 20'000 * kBetween;
  EXPECT_LT(StepsOf(Operation::kPeek, Of(log_, 1), later), kFew);
  EXPECT_LT(StepsOf(Operation::kCheck, Of(log_, 1), later), kFew);
  const std::int64_t left = Ask(Operation::kPeek, Of(log_, 0), later).remaining;
  std::int64_t expected = kAdopting + 1;
  for (std::int64_t i = kEntries - 20'000 + 1; i < kEntries; ++i) expected += CostOf(i);
  EXPECT_EQ(log_.cap() - left, expected);
  EXPECT_LT(StepsOf(Operation::kReset, Of(log_, 1), later), kFew);
}

// What a program did that knows nothing of blocks and directories.
TEST_F(RedisWorkTest, StateOfOlderVersionsIsCountedExactly) {
  FillAsBefore("slots");
  EXPECT_EQ(slots_.cap() - Ask(Operation::kPeek, Of(slots_, 0), kFilled).remaining, kUsed);
  Adopt(slots_);
  const std::int64_t used = kUsed + kAdopting;
  EXPECT_EQ(slots_.cap() - Ask(Operation::kPeek, Of(slots_, 0), kFilled).remaining, used);
  // It takes a slot of 7 that goes first, and says so as it always did.
  const std::string expires = std::to_string((kFilled + Micros{1}).time_since_epoch().count());
  const std::string reply = Evaluate(
      "redis.call('ZADD', KEYS[1], ARGV[1], '555555555:7')\n"
      "redis.call('ZADD', KEYS[1], -ARGV[2], 'slots', '-0.5', 'grant')\n"
      "return 1",
      {"1", RedisKeyOf("key"), expires, std::to_string(used + 7)});
  ASSERT_EQ(reply, "1");
  const Verdict found = Ask(Operation::kPeek, Of(slots_, slots_.cap() - used), kFilled);
  EXPECT_EQ(slots_.cap() - found.remaining, used + 7);
  EXPECT_EQ(found.retry_after, Micros{1});
  Ask(Operation::kRenew, Of(slots_, 1, 555'555'555), kFilled);
  EXPECT_EQ(affected_, 1U);
  Adopt(slots_);
  Ask(Operation::kRelease, Of(slots_, 1, 555'555'555), kFilled);
  EXPECT_EQ(affected_, 1U);
  EXPECT_EQ(slots_.cap() - Ask(Operation::kPeek, Of(slots_, 0), kFilled).remaining,
            used + kAdopting);
}

// ---- Several calls

TEST_F(RedisWorkTest, ManyChecksOfLogsDoNotBlockOtherClients) {
  constexpr int kChecks = 1000;
  Asker other(loop_, server_.ClientOptions());
  const Limit limit = *Limit::SlidingWindowLog({.limit = 10, .window = kWindow});
  const Limit bucket = SlowBucket(10);
  other.RunCheck(bucket, "other");
  asker_.RunCheck(limit, "known script");
  asker_.Clear();
  const std::uint64_t before = asker_.store().StatsApprox().script_calls;
  for (int i = 0; i < kChecks; ++i) asker_.Check(limit, "log" + std::to_string(i));
  const Asked& one = other.Check(bucket, "other");
  ASSERT_TRUE(other.RunUntil([&] { return one.times > 0; }));
  const auto pending = std::count_if(asker_.asked().begin(), asker_.asked().end(),
                                     [](const Asked& asked) { return asked.call.pending; });
  EXPECT_GT(pending, kChecks / 2) << "no other caller was served before";
  ASSERT_TRUE(asker_.WaitForAll());
  for (const Asked& asked : asker_.asked()) ASSERT_TRUE(asked.allowed());
  EXPECT_GE(asker_.store().StatsApprox().script_calls - before, kChecks / 10);
}

TEST_F(RedisWorkTest, ABatchThatExceedsItsEstimateIsAnsweredInParts) {
  constexpr int kChecks = 128;
  const Limit bucket = SlowBucket(10);
  // Grants make the checks more than plain.
  for (int i = 0; i < kChecks; ++i) {
    asker_.Submit(Operation::kGrant, bucket, {"key" + std::to_string(i)}, 5);
  }
  ASSERT_TRUE(asker_.WaitForAll());
  asker_.Clear();
  const std::uint64_t before = asker_.store().StatsApprox().script_calls;
  for (int i = 0; i < kChecks; ++i) asker_.Check(bucket, "key" + std::to_string(i), i % 20);
  ASSERT_TRUE(asker_.WaitForAll());
  EXPECT_GE(asker_.store().StatsApprox().script_calls - before, 5U);
  for (int i = 0; i < kChecks; ++i) {
    const Asked& asked = asker_.asked()[static_cast<std::size_t>(i)];
    ASSERT_TRUE(asked.call.ok);
    EXPECT_EQ(asked.times, 1);
    const int cost = i % 20;
    EXPECT_EQ(asked.call.allowed, cost <= 15);
    EXPECT_EQ(asked.uses[0].verdict.remaining, cost <= 15 ? 15 - cost : 15);
  }
}

TEST_F(RedisWorkTest, ADecisionOverManyLogsIsMadeInStepsAndTakesFromAllOrNone) {
  const Limit limit = *Limit::SlidingWindowLog({.limit = 3, .window = kWindow});
  std::vector<std::string> names(128);
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = "log" + std::to_string(i);
  EXPECT_TRUE(asker_.Run(Operation::kCheck, limit, names).allowed());
  EXPECT_TRUE(asker_.RunCheck(limit, "log77", 2).allowed());
  const std::uint64_t before = asker_.store().StatsApprox().script_calls;
  const Asked& denied = asker_.Run(Operation::kCheck, limit, names);
  EXPECT_TRUE(denied.call.ok);
  EXPECT_FALSE(denied.call.allowed);
  EXPECT_GE(asker_.store().StatsApprox().script_calls - before, 10U);
  EXPECT_EQ(asker_.Used(limit, "log77"), 3);
  for (const char* name : {"log0", "log76", "log78", "log127"}) {
    EXPECT_EQ(asker_.Used(limit, name), 1) << name;
  }
}

TEST_F(RedisWorkTest, CallsThatWaitForOthersAreAnsweredByTheirDeadline) {
  Asker hurried(loop_, server_.ClientOptions(), milliseconds(200));
  const Limit limit = *Limit::SlidingWindowLog({.limit = 10, .window = kWindow});
  hurried.RunCheck(limit, "known script");
  hurried.Clear();
  server_.Freeze();
  for (int i = 0; i < 500; ++i) hurried.Check(limit, "log" + std::to_string(i));
  ASSERT_TRUE(hurried.WaitForAll());
  server_.Thaw();
  std::size_t never_sent = 0;
  for (const Asked& asked : hurried.asked()) {
    ASSERT_FALSE(asked.call.ok);
    ASSERT_EQ(asked.times, 1);
    never_sent += asked.call.error == ErrorCode::kStoreUnavailable ? 1 : 0;
  }
  EXPECT_GT(never_sent, 400U) << "what was never sent is known not to have been counted";
}

}  // namespace
}  // namespace sluice::store::testing

// The user that docs/redis.md describes, over TLS: it may do all that Sluice does, and nothing of
// what it may do is too much.

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/client.h"
#include "redis/testing/documented_user.h"
#include "store/redis/testing/store_fixture.h"

namespace sluice::store::testing {
namespace {

using redis::testing::DocumentedUser;
using redis::testing::Join;
using redis::testing::RedisServer;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Micros kWindow = std::chrono::hours(1);
constexpr WallTime kBegin{std::chrono::hours(24 * 365)};

/// Asks for all that can be asked, and remembers which errors it got.
class Everything {
 public:
  Everything(net::Loop& loop, const redis::Options& options)
      : given_time_(loop, options,
                    RedisStoreOptions{.deadline = seconds(10), .use_time_of_calls = true}),
        own_time_(loop, options) {}

  std::vector<std::string> RunAndListErrors() {
    for (const Limit& limit : limits_) {
      name_ = "key" + std::to_string(&limit - limits_.data());
      UseAndForget(given_time_, limit);
      UseAndForget(own_time_, limit);
    }
    ChangeTheAlgorithm();
    return errors_;
  }

 private:
  Asked& Ask(Asker& asker, Operation operation, const KeyUse& use, WallTime now) {
    Asked& asked = asker.Submit(operation, use, name_, now);
    asker.RunUntil([&] { return !asked.call.pending; });
    if (!asked.call.ok) errors_.emplace_back(ErrorName(asked.call.error));
    return asked;
  }

  static KeyUse Of(const Limit& limit, std::int64_t cost, Mode mode = Mode::kEnforce) {
    KeyUse use;
    use.limit = &limit;
    use.cost = cost;
    use.mode = mode;
    return use;
  }

  // Two hours in the life of a key.
  void UseAndForget(Asker& asker, const Limit& limit) {
    const KeyUse one = Of(limit, 1);
    const KeyUse too_much = Of(limit, limit.cap());
    Ask(asker, Operation::kCheck, one, kBegin);
    KeyUse held = one;
    held.receipt = Ask(asker, Operation::kCheck, one, kBegin + kWindow / 2).uses[0].receipt;
    held.slot = held.receipt.slot;
    Ask(asker, Operation::kCheck, too_much, kBegin + kWindow / 2);
    Ask(asker, Operation::kPeek, one, kBegin + kWindow / 2);
    Inspection inspection;
    KeyUse looked_at = Of(limit, 0);
    looked_at.inspection = &inspection;
    Ask(asker, Operation::kInspect, looked_at, kBegin + kWindow / 2);
    if (limit.algorithm() == Algorithm::kConcurrency) {
      Ask(asker, Operation::kCheck, one, kBegin + kWindow + Micros{1});
      Ask(asker, Operation::kRenew, held, kBegin + kWindow + Micros{1});
      Ask(asker, Operation::kRelease, held, kBegin + kWindow + Micros{1});
    } else {
      KeyUse corrected = held;
      corrected.cost = 2;
      Ask(asker, Operation::kAdjust, corrected, kBegin + kWindow / 2);
      SettleTwice(asker, corrected);
      Ask(asker, Operation::kCheck, one, kBegin + kWindow + Micros{1});
      Ask(asker, Operation::kGrant, Of(limit, 3), kBegin + kWindow + Micros{2});
      Ask(asker, Operation::kCheck, Of(limit, 100, Mode::kForce), kBegin + kWindow + Micros{3});
    }
    Ask(asker, Operation::kReset, one, kBegin + kWindow + Micros{4});
    Ask(asker, Operation::kCheck, one, kBegin + kWindow + Micros{5});
    Ask(asker, Operation::kCheck, one, kBegin);  // The clock was set back.
  }

  // The second time, what was settled first has expired where the calls say what time it is.
  void SettleTwice(Asker& asker, const KeyUse& corrected) {
    const WallTime later = std::max(TheSystemClock().Now(), kBegin) + kWindow;
    std::uint64_t receipt = 0;
    for (const WallTime now : {kBegin + kWindow / 2, later}) {
      Settlement settlement{.receipt = ++receipt, .expires = now + kWindow / 4};
      KeyUse use = corrected;
      use.settlement = &settlement;
      Ask(asker, Operation::kAdjust, use, now).uses[0].settlement = nullptr;
    }
  }

  void ChangeTheAlgorithm() {
    name_ = "changing";
    for (const Limit& limit : limits_) {
      Ask(own_time_, Operation::kCheck, Of(limit, 1), {});
    }
    for (const Limit& limit : limits_) {
      Ask(own_time_, Operation::kCheck, Of(limit, 1), {});
    }
  }

  const std::vector<Limit> limits_ = {
      *Limit::TokenBucket({.capacity = 10, .refill = Rate::PerHour(1)}),
      *Limit::LeakyBucket({.capacity = 10, .leak = Rate::PerHour(1)}),
      *Limit::FixedWindow({.limit = 10, .window = kWindow}),
      *Limit::SlidingWindowCounter({.limit = 10, .window = kWindow}),
      *Limit::SlidingWindowLog({.limit = 10, .window = kWindow}),
      *Limit::Concurrency({.limit = 10, .time_to_live = kWindow})};
  Asker given_time_;  ///< Entries of sorted sets go without anybody's waiting.
  Asker own_time_;
  std::string name_;
  std::vector<std::string> errors_;
};

class RedisPermissionsTest : public ::testing::Test {
 protected:
  RedisPermissionsTest() {
    options_.username = "sluice";
    options_.password_file = (server_.folder() / "password").string();
    std::ofstream(options_.password_file) << "a-long-one\n";
  }

  void Allow(const std::string& permissions) {
    EXPECT_EQ(Describe(server_.Do("ACL SETUSER sluice reset" + permissions).value()), "\"OK\"");
    server_.Do("FLUSHALL");
    server_.Do("SCRIPT FLUSH");
  }

  std::vector<std::string> ListErrors() { return Everything(loop_, options_).RunAndListErrors(); }

  const std::vector<std::string> user_ = DocumentedUser("a-long-one");
  RedisServer server_{{.config = {"tls-auth-clients no"}, .tls = true}};
  redis::Options options_ = server_.ClientOptions();
  net::Loop loop_;
};

TEST_F(RedisPermissionsTest, TheDocumentedPermissionsAreSufficient) {
  ASSERT_THAT(user_, Contains("+evalsha")) << "docs/redis.md has no ACL SETUSER sluice";
  Allow(Join(user_));
  EXPECT_THAT(ListErrors(), IsEmpty());
}

TEST_F(RedisPermissionsTest, EveryDocumentedPermissionIsNecessary) {
  int commands = 0;
  for (const std::string& word : user_) {
    if (!word.starts_with('+') || word == "+unlink") continue;
    ++commands;
    Allow(Join(user_, word));
    EXPECT_THAT(ListErrors(), AllOf(Not(IsEmpty()), Each("store_error"))) << "without " << word;
  }
  EXPECT_GT(commands, 10);
}

TEST_F(RedisPermissionsTest, UnlinkIsNotNeededForAnyAnswer) {
  ASSERT_THAT(user_, Contains("+unlink"));
  Allow(Join(user_, "+unlink"));
  EXPECT_THAT(ListErrors(), IsEmpty());
}

TEST_F(RedisPermissionsTest, OtherKeysAreOutOfReach) {
  Allow(Join(user_));
  redis::Client client(loop_, options_);
  std::string reply;
  std::string command;
  resp::AppendCommand(command, {"GET", "somebody:elses"});
  client.Send(command, loop_.Now() + seconds(10), [&](const redis::Answer& answer) {
    reply = answer ? Describe(answer.reply()) : answer.error().message;
  });
  loop_.RunUntil([&] { return !reply.empty(); }, SteadyClock::Now() + seconds(10));
  EXPECT_THAT(reply, HasSubstr("NOPERM"));
}

TEST_F(RedisPermissionsTest, AnotherDatabaseNeedsSelectAsTheDocumentSays) {
  options_.database = 1;
  Allow(Join(user_));
  Asker refused(loop_, options_);
  const Limit limit = SlowBucket(10);
  EXPECT_EQ(refused.RunCheck(limit, "key").call.error, ErrorCode::kStoreUnavailable);
  EXPECT_THAT(refused.client().last_error(), AllOf(HasSubstr("SELECT"), HasSubstr("NOPERM")));
  Allow(Join(user_) + " +select");
  EXPECT_THAT(ListErrors(), IsEmpty());
}

TEST_F(RedisPermissionsTest, AWrongPasswordIsReportedWithoutThePassword) {
  Allow(Join(user_));
  std::ofstream(options_.password_file) << "a-wrong-one\n";
  Asker asker(loop_, options_);
  const Limit limit = SlowBucket(10);
  EXPECT_EQ(asker.RunCheck(limit, "key").call.error, ErrorCode::kStoreUnavailable);
  EXPECT_THAT(asker.client().last_error(), AllOf(HasSubstr("WRONGPASS"), Not(HasSubstr("a-wr"))));
  std::ofstream(options_.password_file) << "a-long-one\n";
  ASSERT_TRUE(asker.RunUntil([&] { return asker.client().state() == redis::State::kReady; }));
  EXPECT_TRUE(asker.RunCheck(limit, "key").allowed());
}

}  // namespace
}  // namespace sluice::store::testing

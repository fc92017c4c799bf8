// What becomes of calls that are pending when the client is closed, or the store goes.

#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "redis/client.h"
#include "store/redis/testing/store_fixture.h"

namespace sluice::store::testing {
namespace {

class RedisStoreClosingTest : public RealRedisTest {
 protected:
  static constexpr std::size_t kCalls = 5;

  // Calls that Redis has and does not answer.
  void AskAFrozenRedis(Asker& asker) {
    ASSERT_TRUE(asker.RunCheck(limit_, "key").allowed());
    asker.Clear();
    server_.Freeze();
    for (std::size_t i = 0; i < kCalls; ++i) {
      asker.Check(limit_, "key");
      asker.RunUntil([] { return false; }, milliseconds(1));
    }
    ASSERT_EQ(asker.client().StatsApprox().in_flight, kCalls);
  }

  static void ExpectAllCompletedOnce(const Asker& asker, ErrorCode error) {
    EXPECT_FALSE(asker.asked().empty());
    for (const Asked& asked : asker.asked()) {
      EXPECT_EQ(asked.times, 1);
      EXPECT_FALSE(asked.call.ok);
      EXPECT_FALSE(asked.call.pending);
      EXPECT_EQ(ErrorName(asked.call.error), std::string(ErrorName(error)));
    }
  }

  const Limit limit_ = SlowBucket(100);
};

TEST_F(RedisStoreClosingTest, ClosingTheClientCompletesSentCallsImmediately) {
  Asker asker(loop_, server_.ClientOptions());
  AskAFrozenRedis(asker);
  asker.client().Close();
  ExpectAllCompletedOnce(asker, ErrorCode::kStoreTimeout);
  EXPECT_EQ(asker.store().StatsApprox().timeouts, kCalls);
}

TEST_F(RedisStoreClosingTest, ClosingTheClientCompletesCallsWithoutAConnectionImmediately) {
  server_.Kill();
  Asker asker(loop_, server_.ClientOptions());
  for (std::size_t i = 0; i < kCalls; ++i) asker.Check(limit_, "key");
  asker.RunUntil([] { return false; }, milliseconds(1));
  asker.client().Close();
  ExpectAllCompletedOnce(asker, ErrorCode::kStoreUnavailable);
}

TEST_F(RedisStoreClosingTest, AfterClosingCallsAreUnavailableInTheirTurn) {
  Asker asker(loop_, server_.ClientOptions());
  asker.Check(limit_, "key");
  asker.client().Close();
  asker.Check(limit_, "key");
  const SteadyTime asked_at = SteadyClock::Now();
  ASSERT_TRUE(asker.WaitForAll());
  EXPECT_LT(SteadyClock::Now() - asked_at, seconds(5)) << "long before the deadline";
  ExpectAllCompletedOnce(asker, ErrorCode::kStoreUnavailable);
}

TEST_F(RedisStoreClosingTest, DestroyingTheStoreCompletesUnsentCalls) {
  Asker asker(loop_, server_.ClientOptions());
  for (std::size_t i = 0; i < kCalls; ++i) asker.Check(limit_, "key");
  asker.DestroyStore();
  ExpectAllCompletedOnce(asker, ErrorCode::kStoreUnavailable);
  asker.RunUntil([] { return false; }, milliseconds(5));
  ExpectAllCompletedOnce(asker, ErrorCode::kStoreUnavailable);
}

TEST_F(RedisStoreClosingTest, DestroyingTheStoreCompletesPendingCallsAndLateRepliesAreHarmless) {
  Asker asker(loop_, server_.ClientOptions());
  AskAFrozenRedis(asker);
  asker.DestroyStore();
  ExpectAllCompletedOnce(asker, ErrorCode::kStoreTimeout);
  const std::uint64_t before = asker.client().StatsApprox().replies;
  server_.Thaw();
  ASSERT_TRUE(
      asker.RunUntil([&] { return asker.client().StatsApprox().replies >= before + kCalls; }));
  ExpectAllCompletedOnce(asker, ErrorCode::kStoreTimeout);
  Asker other(loop_, server_.ClientOptions());
  EXPECT_EQ(other.Used(limit_, "key"), 1 + static_cast<std::int64_t>(kCalls))
      << "what may have happened did";
}

TEST_F(RedisStoreClosingTest, DestroyingTheStoreAndThenTheClientAnswersEveryCallOnce) {
  for (const bool close_first : {false, true}) {
    SCOPED_TRACE(close_first ? "closed first" : "not closed");
    Asked sent;
    Asked unsent;
    {
      redis::Client client(loop_, server_.ClientOptions());
      RedisStore store(loop_, client, {.deadline = seconds(10)});
      const auto submit = [&](Asked& asked) {
        KeyUse& use = asked.uses.emplace_back();
        use.key = {.scope = kScope, .tag = "key", .rest = {}};
        use.limit = &limit_;
        asked.call.uses = asked.uses;
        asked.call.context = &asked.times;
        asked.call.on_done = [](StoreCall& /*call*/, void* times) { ++*static_cast<int*>(times); };
        EXPECT_EQ(store.Submit(asked.call), Completion::kLater);
      };
      submit(sent);
      loop_.RunUntil([&] { return store.StatsApprox().script_calls > 0; },
                     SteadyClock::Now() + seconds(10));
      submit(unsent);
      if (close_first) client.Close();
    }
    EXPECT_EQ(sent.times, 1);
    EXPECT_EQ(unsent.times, 1);
    EXPECT_FALSE(unsent.call.ok);
    loop_.RunUntil([] { return false; }, SteadyClock::Now() + milliseconds(5));
    EXPECT_EQ(sent.times + unsent.times, 2);
  }
}

TEST_F(RedisStoreClosingTest, CallsSubmittedDuringDestructionFailImmediately) {
  struct Persistent {
    RedisStore* store = nullptr;
    Completion second = Completion::kLater;
    int times = 0;
  };
  Persistent caller;
  KeyUse use;
  use.key = {.scope = kScope, .tag = "key", .rest = {}};
  use.limit = &limit_;
  StoreCall call;
  call.uses = {&use, 1};
  call.context = &caller;
  call.on_done = [](StoreCall& answered, void* context) {
    auto& persistent = *static_cast<Persistent*>(context);
    ++persistent.times;
    persistent.second = persistent.store->Submit(answered);
  };
  redis::Client client(loop_, server_.ClientOptions());
  {
    RedisStore store(loop_, client, {.deadline = seconds(10)});
    caller.store = &store;
    store.Submit(call);
  }
  EXPECT_EQ(caller.times, 1);
  EXPECT_EQ(caller.second, Completion::kNow);
  EXPECT_EQ(call.error, ErrorCode::kStoreUnavailable);
}

}  // namespace
}  // namespace sluice::store::testing

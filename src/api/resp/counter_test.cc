#include "api/resp/counter.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/resp/loop.h"
#include "api/resp/session.h"
#include "api/testing/delayed_store.h"
#include "api/testing/fake_services.h"
#include "resp/encoder.h"

namespace sluice::api {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Words = std::vector<std::string>;

std::string Pair(std::int64_t count, std::int64_t applied) {
  return "*2\r\n:" + std::to_string(count) + "\r\n:" + std::to_string(applied) + "\r\n";
}

class CounterTest : public ::testing::Test {
 protected:
  std::string Send(const Words& command) {
    const std::vector<std::string_view> words(command.begin(), command.end());
    std::string bytes;
    resp::AppendCommand(bytes, words);
    session_.Receive(bytes);
    return std::exchange(session_.output(), {});
  }
  std::string Error(const Words& options) {
    Words command = {"INCREX", "k"};
    command.insert(command.end(), options.begin(), options.end());
    const std::string reply = Send(command);
    EXPECT_THAT(reply, StartsWith("-ERR "));
    return reply;
  }

  testing::DelayedStore store_;
  testing::FakeServices services_{store_};
  testing::FakeTransport transport_;
  RespLoop loop_{services_, transport::kDefaultMaxPending, {}, envoy::NegativeHits::kOn};
  RespSession session_{loop_, transport_, {.address = "127.0.0.1", .is_local = true}};
};

TEST_F(CounterTest, CountsPastAnyLimitUntilTheWindowOfTheFirstHitEnds) {
  EXPECT_EQ(Send({"INCREX", "k", "EX", "60", "ENX"}), Pair(1, 1));
  services_.clock.Advance(seconds(59));
  EXPECT_EQ(Send({"INCREX", "k", "BYINT", "1000000", "EX", "60", "ENX"}),
            Pair(1'000'001, 1'000'000));
  services_.clock.Advance(seconds(1));
  EXPECT_EQ(Send({"INCREX", "k", "EX", "60", "ENX"}), Pair(1, 1));
}

TEST_F(CounterTest, WhatWouldPassTheBoundIsNotCounted) {
  const Words two = {"INCREX", "k", "BYINT", "2", "UBOUND", "5", "PX", "1500", "ENX"};
  EXPECT_EQ(Send(two), Pair(2, 2));
  EXPECT_EQ(Send(two), Pair(4, 2));
  EXPECT_EQ(Send(two), Pair(4, 0));
  EXPECT_EQ(Send({"increx", "k", "px", "1500", "enx", "ubound", "5"}), Pair(5, 1));
  services_.clock.Advance(milliseconds(1500));
  EXPECT_EQ(Send(two), Pair(2, 2));
}

TEST_F(CounterTest, AnIncrementThatNeverFitsIsNotCounted) {
  EXPECT_EQ(Send({"INCREX", "k", "BYINT", "6", "UBOUND", "5", "EX", "1", "ENX"}), Pair(0, 0));
  EXPECT_EQ(Send({"GET", "k"}), "$-1\r\n");
}

TEST_F(CounterTest, ALowerBoundShowsACountThatIsBeyondItAsTheBound) {
  Send({"INCREX", "k", "BYINT", "9", "EX", "60", "ENX"});
  EXPECT_EQ(Send({"INCREX", "k", "UBOUND", "5", "EX", "60", "ENX"}), Pair(5, 0));
  EXPECT_EQ(Send({"GET", "k"}), "$1\r\n9\r\n");
}

TEST_F(CounterTest, AnIncrementOfZeroLooks) {
  const Words look = {"INCREX", "k", "BYINT", "0", "EX", "60", "ENX"};
  EXPECT_EQ(Send(look), Pair(0, 0));
  EXPECT_EQ(Send({"PTTL", "k"}), ":-2\r\n") << "a look begins no window";
  Send({"INCREX", "k", "BYINT", "3", "EX", "60", "ENX"});
  EXPECT_EQ(Send(look), Pair(3, 0));
}

TEST_F(CounterTest, GetAndPttlReadTheWindowThatIsCounted) {
  EXPECT_EQ(Send({"GET", "k"}), "$-1\r\n");
  EXPECT_EQ(Send({"PTTL", "k"}), ":-2\r\n");
  Send({"INCREX", "k", "BYINT", "7", "UBOUND", "10", "EX", "60", "ENX"});
  services_.clock.Advance(microseconds(1'000'001));
  EXPECT_EQ(Send({"GET", "k"}), "$1\r\n7\r\n");
  EXPECT_EQ(Send({"PTTL", "k"}), ":59000\r\n") << "rounded up";
  services_.clock.Advance(seconds(59));
  EXPECT_EQ(Send({"GET", "k"}), "$-1\r\n");
  EXPECT_EQ(Send({"PTTL", "k"}), ":-2\r\n");
}

TEST_F(CounterTest, ANegativeIncrementGivesBackInTheWindowUnderWay) {
  Send({"INCREX", "k", "BYINT", "5", "EX", "60", "ENX"});
  services_.clock.Advance(seconds(20));
  EXPECT_EQ(Send({"INCREX", "k", "BYINT", "-2", "EX", "60", "ENX"}), Pair(3, -2));
  EXPECT_EQ(Send({"PTTL", "k"}), ":40000\r\n");
  EXPECT_EQ(Send({"INCREX", "k", "BYINT", "-100", "EX", "60", "ENX"}), Pair(0, -100));
  EXPECT_EQ(Send({"GET", "k"}), "$-1\r\n");
  EXPECT_EQ(Send({"INCREX", "new", "BYINT", "-1", "EX", "60", "ENX"}), Pair(0, -1));
  EXPECT_EQ(Send({"INCREX", "new", "EX", "60", "ENX"}), Pair(1, 1));
}

TEST_F(CounterTest, ANegativeIncrementIsRefusedUnlessItIsSwitchedOn) {
  RespLoop loop(services_);
  RespSession session(loop, transport_, {.address = "127.0.0.1", .is_local = true});
  session.Receive("INCREX k BYINT -1 EX 60 ENX\r\n");
  EXPECT_THAT(session.output(), StartsWith("-ERR a negative increment is refused"));
}

TEST_F(CounterTest, BucketsAndCountersOfOneNameAreApartAndDelForgetsBoth) {
  Send({"INCREX", "k", "BYINT", "3", "EX", "60", "ENX"});
  EXPECT_THAT(Send({"CL.THROTTLE", "k", "4", "1", "60", "2"}),
              StartsWith("*5\r\n:0\r\n:5\r\n:3\r\n"));
  EXPECT_EQ(Send({"GET", "k"}), "$1\r\n3\r\n");
  EXPECT_EQ(Send({"DEL", "k", "absent"}), ":2\r\n") << "a bucket and a counter";
  EXPECT_EQ(Send({"INCREX", "k", "EX", "60", "ENX"}), Pair(1, 1));
  EXPECT_EQ(Send({"UNLINK", "k"}), ":1\r\n");
}

TEST_F(CounterTest, ErrorsNameTheOption) {
  EXPECT_THAT(Error({"EX", "60"}), HasSubstr("needs EX or PX, and ENX"));
  EXPECT_THAT(Error({"ENX"}), HasSubstr("needs EX or PX, and ENX"));
  EXPECT_THAT(Error({"EX", "1", "PX", "1", "ENX"}), HasSubstr("needs EX or PX, and ENX"));
  EXPECT_THAT(Error({}), HasSubstr("needs EX or PX, and ENX"));
  EXPECT_THAT(Error({"EX", "1", "EX", "1", "ENX"}), HasSubstr("'EX': use BYINT, UBOUND"));
  for (const char* option : {"BYFLOAT", "LBOUND", "EXAT", "PXAT", "PERSIST", "SATURATE", ""}) {
    EXPECT_THAT(Error({option, "1", "EX", "60", "ENX"}),
                HasSubstr("does not support '" + std::string(option) + "'"));
  }
  EXPECT_THAT(Error({"ENX", "EX"}), HasSubstr("'EX' has no value"));
  EXPECT_THAT(Error({"EX", "0", "ENX"}), HasSubstr("EX must be an integer between 1"));
  EXPECT_THAT(Error({"EX", "3153600001", "ENX"}), HasSubstr("EX must be an integer"));
  EXPECT_THAT(Error({"PX", "1.5", "ENX"}), HasSubstr("PX must be an integer"));
  EXPECT_THAT(Error({"UBOUND", "0", "EX", "1", "ENX"}), HasSubstr("UBOUND must be an integer"));
  EXPECT_THAT(Error({"BYINT", "9007199254740993", "EX", "1", "ENX"}), HasSubstr("BYINT must be"));
  EXPECT_THAT(Error(Words(20, "ENX")), HasSubstr("wrong number of arguments for 'increx' command"));
  EXPECT_THAT(Send({"INCREX", std::string(kMaxKeyBytes + 1, 'k'), "EX", "1", "ENX"}),
              HasSubstr("invalid_key"));
  EXPECT_THAT(Send({"GET", "a", "b"}), HasSubstr("wrong number of arguments for 'get' command"));
}

TEST_F(CounterTest, AWindowLongerThanLimitsInRequestsMayTakeIsRefused) {
  RespLoop loop(services_, transport::kDefaultMaxPending, {.max_refill_time = hours(1)});
  RespSession session(loop, transport_, {.address = "127.0.0.1", .is_local = true});
  session.Receive("INCREX k EX 3601 ENX\r\n");
  EXPECT_THAT(session.output(), HasSubstr("request_limits.max_refill_time"));
}

TEST_F(CounterTest, TheLargestNumbersCountAndNeverOverflow) {
  const std::string most = std::to_string(kMaxAmount);
  const Words command = {"INCREX", "k", "BYINT", most, "EX", "3153600000", "ENX"};
  EXPECT_EQ(Send(command), Pair(kMaxAmount, kMaxAmount));
  EXPECT_EQ(Send(command), Pair(kMaxAmount, 0));
  EXPECT_EQ(Send({"GET", "k"}), "$16\r\n" + most + "\r\n");
}

TEST_F(CounterTest, WhenTheStoreFailsTheReplyIsAnError) {
  store_.failure = ErrorCode::kStoreTimeout;
  for (const Words& command :
       {Words{"INCREX", "k", "EX", "1", "ENX"}, Words{"GET", "k"}, Words{"PTTL", "k"}}) {
    EXPECT_EQ(Send(command), "-ERR storage unavailable: store_timeout\r\n");
  }
}

TEST_F(CounterTest, TheOperatorsSwitchIsForItToo) {
  const Words once = {"INCREX", "k", "UBOUND", "1", "EX", "60", "ENX"};
  Send(once);
  EXPECT_EQ(Send(once), Pair(1, 0));
  services_.SetEnforcement(limiter::Enforcement::kShadow);
  EXPECT_EQ(Send(once), Pair(1, 1)) << "evaluated, and passed";
  services_.SetEnforcement(limiter::Enforcement::kOff);
  const std::size_t submitted = store_.submitted();
  EXPECT_EQ(Send(once), Pair(1, 1));
  EXPECT_EQ(store_.submitted(), submitted);
}

// The judge: per key a count and the end of its window.
class Model {
 public:
  std::string Increment(WallTime now, std::int64_t n, std::optional<std::int64_t> bound,
                        Micros window) {
    Expire(now);
    if (n < 0) {
      count_ = std::max<std::int64_t>(count_ + n, 0);
      return Pair(count_, n);
    }
    const bool fits = !bound || count_ + n <= *bound;
    if (!fits) return Pair(std::min(count_, *bound), 0);
    if (count_ == 0) end_ = now + window;
    count_ += n;
    return Pair(count_, n);
  }
  std::string Get(WallTime now) {
    Expire(now);
    const std::string digits = std::to_string(count_);
    return count_ == 0 ? "$-1\r\n" : "$" + std::to_string(digits.size()) + "\r\n" + digits + "\r\n";
  }
  std::string Pttl(WallTime now) {
    Expire(now);
    const auto rest = std::chrono::ceil<milliseconds>(end_ - now).count();
    return ":" + std::to_string(count_ == 0 ? -2 : rest) + "\r\n";
  }

 private:
  void Expire(WallTime now) {
    if (now >= end_) count_ = 0;
  }

  std::int64_t count_ = 0;
  WallTime end_{};
};

TEST_F(CounterTest, EveryReplyIsThatOfTheModel) {
  const auto seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int key = 0; key < 200; ++key) {
    const std::string name = "key" + std::to_string(key);
    const Micros window = milliseconds(pick(0, 1) == 0 ? pick(1, 50) : pick(1, 100'000));
    Model model;
    for (int step = 0; step < 200; ++step) {
      const WallTime now = services_.now();
      const std::int64_t kind = pick(0, 9);
      if (kind == 0) {
        ASSERT_EQ(Send({"GET", name}), model.Get(now)) << name << ", step " << step;
      } else if (kind == 1) {
        ASSERT_EQ(Send({"PTTL", name}), model.Pttl(now)) << name << ", step " << step;
      } else {
        const std::int64_t n = pick(0, 4) == 0 ? pick(-5, 5) : pick(0, 3);
        std::optional<std::int64_t> bound;
        if (pick(0, 2) != 0) bound = pick(1, 40);
        Words command = {
            "INCREX", name, "BYINT", std::to_string(n), "PX", std::to_string(window.count() / 1000),
            "ENX"};
        // Of what is given back, a bound is only the bound of what is shown.
        if (bound && n >= 0) command.insert(command.end(), {"UBOUND", std::to_string(*bound)});
        if (n == 0 && bound) {
          // A look is always applied.
          command.resize(7);
          bound.reset();
        }
        ASSERT_EQ(Send(command), model.Increment(now, n, bound, window))
            << name << ", step " << step;
      }
      if (pick(0, 2) == 0) services_.clock.Advance(microseconds(pick(0, window.count() * 2 / 5)));
    }
  }
}

}  // namespace
}  // namespace sluice::api

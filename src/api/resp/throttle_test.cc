#include "api/resp/throttle.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/resp/loop.h"
#include "api/resp/session.h"
#include "api/testing/delayed_store.h"
#include "api/testing/fake_services.h"
#include "base/wide_math.h"
#include "resp/decoder.h"
#include "resp/encoder.h"

namespace sluice::api {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Five = std::vector<std::int64_t>;

// redis-cell's rule without any rounding: times are counted in 1/count microseconds, in which the
// emission interval is a whole number. The judge of what CL.THROTTLE answers.
class Gcra {
 public:
  explicit Gcra(const ThrottleNumbers& numbers)
      : count_(numbers.count), cap_(numbers.max_burst + 1) {
    interval_ = Wide{numbers.period} * 1'000'000;
    tolerance_ = interval_ * cap_;
  }

  Five Throttle(WallTime at, std::int64_t quantity) {
    const Wide now = Wide{at.time_since_epoch().count()} * count_;
    const Wide tat = std::max(now, tat_);
    // A refund fills the bucket at most.
    const Wide next = std::max(now, tat + interval_ * quantity);
    const Wide missing = next - tolerance_ - now;
    const bool limited = missing > 0;
    if (!limited) tat_ = next;
    const Wide used = (limited ? tat : next) - now;
    const bool can_fit = quantity <= cap_;
    return {limited ? 1 : 0, cap_, static_cast<std::int64_t>((tolerance_ - used) / interval_),
            limited && can_fit ? Seconds(missing) : -1, Seconds(used)};
  }

 private:
  [[nodiscard]] std::int64_t Seconds(Wide wait) const {
    const Wide second = Wide{count_} * 1'000'000;
    return static_cast<std::int64_t>((wait + second - 1) / second);
  }

  std::int64_t count_;
  std::int64_t cap_;
  Wide interval_;
  Wide tolerance_;
  Wide tat_ = 0;  ///< Long ago: the bucket is full.
};

class ThrottleTest : public ::testing::Test {
 protected:
  std::string Send(const std::vector<std::string>& command) {
    const std::vector<std::string_view> words(command.begin(), command.end());
    std::string bytes;
    resp::AppendCommand(bytes, words);
    session_.Receive(bytes);
    return std::exchange(session_.output(), {});
  }
  std::string Error(const std::vector<std::string>& rest) {
    std::vector<std::string> command = {"CL.THROTTLE"};
    command.insert(command.end(), rest.begin(), rest.end());
    const std::string reply = Send(command);
    EXPECT_THAT(reply, StartsWith("-"));
    return reply;
  }
  Five Throttle(const std::string& key, const ThrottleNumbers& numbers,
                std::optional<std::int64_t> quantity = std::nullopt) {
    std::vector<std::string> command = {"CL.THROTTLE", key, std::to_string(numbers.max_burst),
                                        std::to_string(numbers.count),
                                        std::to_string(numbers.period)};
    if (quantity) command.push_back(std::to_string(*quantity));
    resp::Decoder decoder;
    const std::string reply = Send(command);
    decoder.Feed(reply);
    EXPECT_EQ(decoder.Next(), resp::Decoder::Status::kReply) << reply;
    Five integers;
    for (const resp::Value value : decoder.reply()) integers.push_back(value.integer());
    return integers;
  }

  testing::DelayedStore store_;
  testing::FakeServices services_{store_};
  testing::FakeTransport transport_;
  RespLoop loop_{services_, transport::kDefaultMaxPending, {}, envoy::NegativeHits::kOn};
  RespSession session_{loop_, transport_, {.address = "127.0.0.1", .is_local = true}};
};

TEST_F(ThrottleTest, AnswersAsTheExampleOfRedisCell) {
  EXPECT_EQ(Send({"CL.THROTTLE", "user123", "15", "30", "60"}),
            "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n");
}

TEST_F(ThrottleTest, DeniesOnceTheBurstIsSpentAndSaysWhenToComeBack) {
  const ThrottleNumbers numbers{.max_burst = 2, .count = 1, .period = 10};
  EXPECT_THAT(Throttle("k", numbers), ElementsAre(0, 3, 2, -1, 10));
  EXPECT_THAT(Throttle("k", numbers), ElementsAre(0, 3, 1, -1, 20));
  EXPECT_THAT(Throttle("k", numbers), ElementsAre(0, 3, 0, -1, 30));
  services_.clock.Advance(microseconds(1));
  EXPECT_THAT(Throttle("k", numbers), ElementsAre(1, 3, 0, 10, 30));
  services_.clock.Advance(seconds(10));
  EXPECT_THAT(Throttle("k", numbers), ElementsAre(0, 3, 0, -1, 30));
}

TEST_F(ThrottleTest, AQuantityOfZeroLooks) {
  const ThrottleNumbers numbers{.max_burst = 4, .count = 1, .period = 1};
  EXPECT_THAT(Throttle("k", numbers, 0), ElementsAre(0, 5, 5, -1, 0));
  EXPECT_THAT(Throttle("k", numbers, 5), ElementsAre(0, 5, 0, -1, 5));
  EXPECT_THAT(Throttle("k", numbers, 0), ElementsAre(0, 5, 0, -1, 5));
}

TEST_F(ThrottleTest, WhatCanNeverFitIsDeniedForGood) {
  const ThrottleNumbers numbers{.max_burst = 4, .count = 1, .period = 1};
  EXPECT_THAT(Throttle("k", numbers, 6), ElementsAre(1, 5, 5, -1, 0));
  EXPECT_THAT(Throttle("k", numbers, INT64_MAX), ElementsAre(1, 5, 5, -1, 0));
}

TEST_F(ThrottleTest, ANegativeQuantityGivesBackAndNeverMoreThanFitsIn) {
  const ThrottleNumbers numbers{.max_burst = 4, .count = 1, .period = 1};
  Throttle("k", numbers, 5);
  EXPECT_THAT(Throttle("k", numbers, -2), ElementsAre(0, 5, 2, -1, 3));
  EXPECT_THAT(Throttle("k", numbers, -100), ElementsAre(0, 5, 5, -1, 0));
  Throttle("k", numbers, 5);
  EXPECT_THAT(Throttle("k", numbers, INT64_MIN), ElementsAre(0, 5, 5, -1, 0));
  EXPECT_THAT(Throttle("new", numbers, -1), ElementsAre(0, 5, 5, -1, 0));
}

TEST_F(ThrottleTest, ANegativeQuantityIsRefusedUnlessItIsSwitchedOn) {
  const ThrottleNumbers numbers{.max_burst = 4, .count = 1, .period = 3600};
  Throttle("k", numbers, 5);
  for (const envoy::NegativeHits setting :
       {envoy::NegativeHits::kOff, envoy::NegativeHits::kEnvoyDomains}) {
    RespLoop loop(services_, transport::kDefaultMaxPending, {}, setting);
    RespSession session(loop, transport_, {.address = "127.0.0.1", .is_local = true});
    for (int i = 0; i < 20; ++i) {
      std::string bytes;
      resp::AppendCommand(bytes, {"CL.THROTTLE", "k", "4", "1", "3600", "-1"});
      session.Receive(bytes);
      EXPECT_THAT(std::exchange(session.output(), {}),
                  StartsWith("-ERR a negative quantity is refused: see the setting negative_hits"));
    }
  }
  EXPECT_EQ(Throttle("k", numbers, 0)[2], 0) << "nothing was given back";
}

TEST_F(ThrottleTest, RatesFarAboveAThousandASecondLimit) {
  const ThrottleNumbers numbers{.max_burst = 0, .count = 100'000, .period = 1};
  EXPECT_EQ(Throttle("k", numbers)[0], 0);
  EXPECT_THAT(Throttle("k", numbers), ElementsAre(1, 1, 0, 1, 1)) << "and a denial never says 0";
  services_.clock.Advance(microseconds(9));
  EXPECT_EQ(Throttle("k", numbers)[0], 1);
  services_.clock.Advance(microseconds(1));
  EXPECT_EQ(Throttle("k", numbers)[0], 0);
}

TEST_F(ThrottleTest, AfterIdlingThereIsOneBurstAndNoMore) {
  const ThrottleNumbers numbers{.max_burst = 2, .count = 1, .period = 1};
  Throttle("k", numbers, 3);
  services_.clock.Advance(std::chrono::hours(24));
  EXPECT_THAT(Throttle("k", numbers, 3), ElementsAre(0, 3, 0, -1, 3));
  EXPECT_EQ(Throttle("k", numbers)[0], 1);
}

TEST_F(ThrottleTest, TheNumbersOfALiveKeyMayChange) {
  Throttle("k", {.max_burst = 9, .count = 1, .period = 10}, 4);
  EXPECT_THAT(Throttle("k", {.max_burst = 19, .count = 2, .period = 1}, 0),
              ElementsAre(0, 20, 6, -1, 7));
  EXPECT_THAT(Throttle("k", {.max_burst = 1, .count = 1, .period = 1}, 0),
              ElementsAre(0, 2, 2, -1, 0));
}

TEST_F(ThrottleTest, ErrorsNameTheArgument) {
  EXPECT_THAT(Error({"k", "x", "1", "1"}), HasSubstr("max_burst must be an integer"));
  EXPECT_THAT(Error({"k", "-1", "1", "1"}), HasSubstr("max_burst must be an integer"));
  EXPECT_THAT(Error({"k", "1", "0", "1"}), HasSubstr("count must be an integer between 1"));
  EXPECT_THAT(Error({"k", "1", "1", "0"}), HasSubstr("period must be an integer between 1"));
  EXPECT_THAT(Error({"k", "1", "1", "1.5"}), HasSubstr("period must be an integer"));
  EXPECT_THAT(Error({"k", "1", "1", "1", ""}), HasSubstr("quantity must be an integer"));
  EXPECT_THAT(Error({"k", "1", "1", "1", "+1"}), HasSubstr("quantity must be an integer"));
  EXPECT_EQ(
      Error({"k", "1", "1"}),
      "-ERR wrong number of arguments for 'cl.throttle' command: use CL.THROTTLE key max_burst "
      "count period [quantity]\r\n");
  EXPECT_THAT(Error({"k", "1", "1", "1", "1", "1"}), HasSubstr("wrong number of arguments"));
  EXPECT_EQ(store_.submitted(), 0U);
}

TEST_F(ThrottleTest, HugeNumbersAreAnErrorAndNeverOverflow) {
  for (const char* huge : {"9223372036854775807", "9223372036854775808", "9007199254740992",
                           "99999999999999999999999999"}) {
    EXPECT_THAT(Error({"k", huge, "1", "1"}), HasSubstr("max_burst")) << huge;
    EXPECT_THAT(Error({"k", "1", "1", huge}), HasSubstr("period")) << huge;
  }
  EXPECT_THAT(Error({"k", "1", "9223372036854775807", "1"}), HasSubstr("count"));
  EXPECT_THAT(Error({"k", "1", "1", "1", "9223372036854775808"}), HasSubstr("quantity"));
  EXPECT_THAT(Error({"k", "9007199254740991", "1", "60"}), HasSubstr("held exactly"));
  EXPECT_THAT(Throttle("k", {.max_burst = kMaxAmount - 1, .count = 1'000'000, .period = 1}),
              ElementsAre(0, kMaxAmount, kMaxAmount - 1, -1, 1));
  EXPECT_EQ(Throttle("j", {.max_burst = 0, .count = kMaxAmount, .period = 1})[0], 0);
  EXPECT_EQ(Throttle("i", {.max_burst = 0, .count = 1, .period = 3'153'600'000}).back(),
            3'153'600'000);
}

TEST_F(ThrottleTest, AKeyThatIsTooLongIsRefused) {
  EXPECT_THAT(Error({std::string(kMaxKeyBytes + 1, 'k'), "1", "1", "1"}), HasSubstr("invalid_key"));
}

TEST_F(ThrottleTest, WhenTheStoreFailsThereIsNoRoomForThatInFiveIntegers) {
  store_.failure = ErrorCode::kStoreTimeout;
  EXPECT_EQ(Error({"k", "1", "1", "1"}), "-ERR storage unavailable: store_timeout\r\n");
}

TEST_F(ThrottleTest, DelForgetsKeysAndCountsThoseThatWereThere) {
  const ThrottleNumbers numbers{.max_burst = 4, .count = 1, .period = 1};
  Throttle("a", numbers, 5);
  Throttle("b", numbers, 5);
  EXPECT_EQ(Send({"DEL", "a", "absent", "b"}), ":2\r\n");
  EXPECT_EQ(Throttle("a", numbers, 5)[0], 0);
  EXPECT_EQ(Send({"UNLINK", "a"}), ":1\r\n");
  EXPECT_EQ(Send({"UNLINK", "a"}), ":0\r\n");
  EXPECT_EQ(Send(std::vector<std::string>(kMaxLimitsPerCall / 2 + 2, "del")),
            "-ERR at most 64 keys at a time\r\n");
}

TEST_F(ThrottleTest, MoreNumbersThanThereArePlacesWork) {
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t burst = 0; burst < 3000; ++burst) {
      EXPECT_EQ(Throttle(std::to_string(burst), {.max_burst = burst, .count = 1, .period = 60})[1],
                burst + 1);
    }
  }
}

TEST_F(ThrottleTest, EveryAnswerIsThatOfTheExactRule) {
  const auto seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int key = 0; key < 400; ++key) {
    const std::array<std::int64_t, 4> bursts = {0, 1, pick(0, 20), pick(0, 5000)};
    const std::array<std::int64_t, 4> counts = {1, 7, pick(1, 100), pick(1, 1'000'000)};
    const std::array<std::int64_t, 4> periods = {1, 60, pick(1, 100), pick(1, 86'400)};
    const ThrottleNumbers numbers{.max_burst = bursts[random() % 4],
                                  .count = counts[random() % 4],
                                  .period = periods[random() % 4]};
    Gcra judge(numbers);
    const std::int64_t interval =
        std::max<std::int64_t>(numbers.period * 1'000'000 / numbers.count, 1);
    for (int step = 0; step < 200; ++step) {
      const std::int64_t most = std::min<std::int64_t>(numbers.max_burst + 2, 40);
      const std::int64_t quantity = pick(0, 9) < 6 ? 1 : pick(-most / 2, most);
      const Five expected = judge.Throttle(services_.now(), quantity);
      const Five found = Throttle("key" + std::to_string(key), numbers, quantity);
      ASSERT_EQ(found, expected) << "step " << step << ", max_burst " << numbers.max_burst
                                 << ", count " << numbers.count << ", period " << numbers.period
                                 << ", quantity " << quantity;
      services_.clock.Advance(microseconds(pick(0, 3) == 0 ? 0 : pick(0, interval * 3 / 2)));
    }
  }
}

TEST_F(ThrottleTest, ACallAfterRetryAfterPasses) {
  std::mt19937_64 random(7);
  for (int key = 0; key < 200; ++key) {
    const ThrottleNumbers numbers{.max_burst = static_cast<std::int64_t>(random() % 10),
                                  .count = static_cast<std::int64_t>(random() % 1000 + 1),
                                  .period = static_cast<std::int64_t>(random() % 100 + 1)};
    const std::string name = "key" + std::to_string(key);
    while (true) {
      services_.clock.Advance(microseconds(random() % 1000));
      const Five answer = Throttle(name, numbers);
      if (answer[0] == 0) continue;
      ASSERT_GT(answer[3], 0);
      services_.clock.Advance(seconds(answer[3]));
      ASSERT_EQ(Throttle(name, numbers)[0], 0);
      break;
    }
  }
}

TEST_F(ThrottleTest, TheOperatorsSwitchIsForItToo) {
  const ThrottleNumbers once_a_minute{.max_burst = 0, .count = 1, .period = 60};
  EXPECT_THAT(Throttle("k", once_a_minute), ElementsAre(0, 1, 0, -1, 60));
  EXPECT_THAT(Throttle("k", once_a_minute), ElementsAre(1, 1, 0, 60, 60));
  services_.SetEnforcement(limiter::Enforcement::kShadow);
  EXPECT_THAT(Throttle("k", once_a_minute), ElementsAre(0, 1, 0, -1, 60)) << "judged, and let pass";
  store_.failure = ErrorCode::kStoreTimeout;
  EXPECT_THAT(Throttle("k", once_a_minute), ElementsAre(0, 1, 1, -1, 0));
  store_.failure.reset();
  services_.SetEnforcement(limiter::Enforcement::kOff);
  const std::size_t asked = store_.submitted();
  EXPECT_THAT(Throttle("k", once_a_minute), ElementsAre(0, 1, 1, -1, 0));
  EXPECT_EQ(store_.submitted(), asked) << "no limit is looked at";
  services_.SetEnforcement(limiter::Enforcement::kOn);
  EXPECT_THAT(Throttle("k", once_a_minute), ElementsAre(1, 1, 0, 60, 60));
}

}  // namespace
}  // namespace sluice::api

#include "answer/rate_limit_headers.h"

#include <algorithm>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/http_server.h"
#include "base/testing/seed.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using testing::Heard;
using ::testing::Not;
using testing::NumberOf;

constexpr std::string_view kTwoLimits = R"(
rules:
  - id: api
    limits:
      - { name: burst, algorithm: fixed_window, limit: 2, window: 60 }
      - { name: daily, algorithm: fixed_window, limit: 1000, window: 86400 }
)";

class RateLimitHeadersTest : public testing::HttpTest {
 protected:
  void Use(HeaderStyle style) {
    options_.header_style = style;
    Start();
    Load(kTwoLimits);
  }

  void WaitForRetryAfter(const Heard& denied, bool by_seconds) {
    const std::int64_t wait =
        std::stoll(denied.Header(by_seconds ? "Retry-After" : "X-RateLimit-Reset-Ms"));
    ASSERT_GE(wait, 1);
    services_.clock.Advance(by_seconds ? Micros{std::chrono::seconds(wait)}
                                       : Micros{std::chrono::milliseconds(wait)});
  }
};

TEST_F(RateLimitHeadersTest, Draft6) {
  Use(HeaderStyle::kDraft6);
  const Heard heard = Check("key=a");
  EXPECT_EQ(heard.Header("RateLimit-Limit"), "2");
  EXPECT_EQ(heard.Header("RateLimit-Remaining"), "1");
  EXPECT_EQ(heard.Header("RateLimit-Reset"), "20");
  EXPECT_EQ(heard.Header("RateLimit-Policy"), "2;w=60, 1000;w=86400");
  EXPECT_THAT(heard.head, Not(HasSubstr("X-RateLimit")));
}

TEST_F(RateLimitHeadersTest, Draft7) {
  Use(HeaderStyle::kDraft7);
  const Heard heard = Check("key=a");
  EXPECT_EQ(heard.Header("RateLimit"), "limit=2, remaining=1, reset=20");
  EXPECT_EQ(heard.Header("RateLimit-Policy"), "2;w=60, 1000;w=86400");
}

TEST_F(RateLimitHeadersTest, Draft10) {
  Use(HeaderStyle::kDraft10);
  const Heard heard = Check("key=a");
  EXPECT_EQ(heard.Header("RateLimit-Policy"),
            "\"api:burst\";q=2;w=60,\"api:daily\";q=1000;w=86400");
  EXPECT_EQ(heard.Header("RateLimit"), "\"api:burst\";r=1;t=20");
  Check("key=a");
  const Heard denied = Check("key=a");
  EXPECT_EQ(denied.status, 429);
  EXPECT_EQ(denied.Header("RateLimit"), "\"api:burst\";r=0;t=20");
  EXPECT_EQ(denied.Header("Retry-After"), "20");
}

TEST_F(RateLimitHeadersTest, None) {
  Use(HeaderStyle::kNone);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Check("key=a").head, Not(HasSubstr("RateLimit")));
  EXPECT_EQ(Check("key=a").Header("Retry-After"), "20") << "that is HTTP's own";
}

TEST_F(RateLimitHeadersTest, StylesHaveNames) {
  for (const HeaderStyle style :
       {HeaderStyle::kXRateLimit, HeaderStyle::kDraft6, HeaderStyle::kDraft7, HeaderStyle::kDraft10,
        HeaderStyle::kNone}) {
    EXPECT_EQ(FindHeaderStyle(NameOf(style)), style);
  }
  EXPECT_FALSE(FindHeaderStyle("draft-8"));
}

TEST_F(RateLimitHeadersTest, RulesInShadowAndThoseThatSaySoAreNotSpokenOf) {
  Load("rules: [{ id: api, shadow: true, algorithm: fixed_window, limit: 1, window: 60 }]");
  for (int i = 0; i < 2; ++i) EXPECT_THAT(Check("key=a").head, Not(HasSubstr("RateLimit")));
  EXPECT_EQ(Check("key=a").status, 200);
  Load("rules: [{ id: quiet, headers: false, algorithm: fixed_window, limit: 1, window: 60 }]");
  EXPECT_THAT(Check("key=b").head, Not(HasSubstr("RateLimit")));
  EXPECT_EQ(Check("key=b").status, 429);
}

constexpr std::string_view kQuietAndLoud = R"(
rules:
  - { id: quiet, headers: false, algorithm: fixed_window, limit: 2, window: 60 }
  - { id: loud, algorithm: fixed_window, limit: 10, window: 60 }
)";

TEST_F(RateLimitHeadersTest, ARuleThatIsNotSpokenOfDoesNotSilenceTheOthers) {
  Load(kQuietAndLoud);
  const Heard heard = Check("key=a");
  EXPECT_EQ(heard.Header("X-RateLimit-Limit"), "10");
  EXPECT_EQ(heard.Header("X-RateLimit-Remaining"), "9");
  EXPECT_EQ(NumberOf(heard.body, "limit"), 10);
  EXPECT_THAT(heard.body, Not(HasSubstr("quiet")));
}

TEST_F(RateLimitHeadersTest, ARuleThatIsNotSpokenOfIsNamedInTheBodyIfItDenies) {
  options_.header_style = HeaderStyle::kDraft10;
  Load(kQuietAndLoud);
  for (int i = 0; i < 2; ++i) Check("key=a");
  const Heard denied = Check("key=a");
  EXPECT_EQ(denied.status, 429);
  EXPECT_EQ(testing::TextOf(denied.body, "rule"), "quiet");
  EXPECT_EQ(denied.Header("RateLimit"), "\"loud:requests\";r=8;t=20");
  EXPECT_EQ(denied.Header("RateLimit-Policy"), "\"loud:requests\";q=10;w=60");
  EXPECT_EQ(denied.Header("Retry-After"), "20");
}

TEST_F(RateLimitHeadersTest, WhereTheStoreFailsTheOthersAreSpokenOf) {
  Load(kQuietAndLoud);
  store_.failure = ErrorCode::kStoreTimeout;
  const Heard heard = Check("key=a");
  EXPECT_EQ(heard.Header("X-RateLimit-Limit"), "10");
  EXPECT_EQ(heard.Header("X-RateLimit-Remaining"), "-1");
  EXPECT_EQ(heard.Header("X-RateLimit-Degraded"), "true");
}

TEST_F(RateLimitHeadersTest, JitterOnlyEverAdds) {
  options_.retry_after_jitter_percent = 50;
  Load("rules: [{ id: api, algorithm: fixed_window, limit: 1, window: 3600 }]");
  Check("key=a");
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = 0;
  for (int i = 0; i < 200; ++i) {
    const Heard heard = Check("key=a");
    const std::int64_t advised = std::stoll(heard.Header("X-RateLimit-Reset-Ms"));
    const std::int64_t needed = NumberOf(heard.body, "retryAfterMs");
    EXPECT_GE(advised, needed);
    EXPECT_LE(advised, needed + needed / 2 + 1);
    EXPECT_GE(std::stoll(heard.Header("Retry-After")) * 1000, advised);
    EXPECT_GE((std::stoll(heard.Header("X-RateLimit-Reset")) - 1'900'000'000) * 1000, advised);
    least = std::min(least, advised);
    most = std::max(most, advised);
  }
  EXPECT_GT(most - least, 100'000) << "they are spread";
}

// Whatever the limit, the cost and what happened before: a caller that waits as advised passes.
TEST_F(RateLimitHeadersTest, WaitingAsAdvisedPasses) {
  const unsigned seed = TestSeed();
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937_64 random(seed);
  const auto upto = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(1, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const std::int64_t size = upto(20);
    const std::string number = std::to_string(size);
    const std::string rate = std::to_string(upto(50)) + "." + std::to_string(upto(999));
    const std::string window = std::to_string(upto(100)) + "." + std::to_string(upto(999));
    std::string limit;
    switch (round % 5) {
      case 0:
        limit = R"("algorithm":"token_bucket","capacity":)" + number + R"(,"refill_rate":)" + rate;
        break;
      case 1:
        limit = R"("algorithm":"leaky_bucket","capacity":)" + number + R"(,"leak_rate":)" + rate;
        break;
      default:
        limit = std::string(R"("algorithm":")") +
                (round % 5 == 2   ? "fixed_window"
                 : round % 5 == 3 ? "sliding_window"
                                  : "sliding_window_counter") +
                R"(","limit":)" + number + R"(,"window":)" + window;
    }
    const std::string key = "k" + std::to_string(round);
    for (int call = 0; call < 30; ++call) {
      const std::string body = R"({"key":")" + key + R"(","cost":)" + std::to_string(upto(size)) +
                               R"(,"limit":{)" + limit + "}}";
      const Heard heard = CheckBody(body);
      if (heard.status == 429) {
        WaitForRetryAfter(heard, /*by_seconds=*/call % 2 == 0);
        ASSERT_EQ(CheckBody(body).status, 200) << "seed " << seed << ", " << body << heard.body;
      } else {
        ASSERT_EQ(heard.status, 200) << heard.body;
      }
      services_.clock.Advance(Micros{upto(500'000)});
    }
  }
}

// A limit that a rule may have, with random numbers; it holds at least `size`.
std::string RandomLimit(std::mt19937_64& random, std::int64_t size) {
  const auto upto = [&](std::int64_t most) {
    return std::to_string(std::uniform_int_distribution<std::int64_t>(1, most)(random));
  };
  const std::string capacity = "capacity: " + std::to_string(size);
  const std::string limit = "limit: " + std::to_string(size);
  const std::string window = ", window: " + upto(100'000) + "ms";
  switch (random() % 7) {
    case 0:
      return "algorithm: token_bucket, " + capacity + ", refill_rate: " + upto(20) + "." +
             upto(999);
    case 1:
      return "algorithm: token_bucket, " + capacity + ", refill_rate: " + upto(20) +
             ", refill_interval: " + upto(30) + "s, burst_multiplier: 2";
    case 2:
      return "algorithm: leaky_bucket, " + capacity + ", leak_rate: " + upto(20) + "." + upto(999);
    case 3:
      return "algorithm: fixed_window, " + limit + window;
    case 4:
      return "algorithm: fixed_window, anchor: first_hit, " + limit + window;
    case 5:
      return "algorithm: sliding_window_log, " + limit + window;
    default:
      return "algorithm: sliding_window_counter, " + limit + window;
  }
}

// And so it is where a rule has several limits: the longest wait is reported, and none is left
// then.
TEST_F(RateLimitHeadersTest, WaitingAsAdvisedPassesAllLimitsOfARule) {
  const unsigned seed = TestSeed();
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; ++round) {
    const auto size = static_cast<std::int64_t>(random() % 20) + 1;
    std::string rules = "rules:\n  - id: r" + std::to_string(round) + "\n    limits:\n";
    for (std::uint64_t i = 0, count = random() % 3 + 1; i < count; ++i) {
      const std::int64_t more = static_cast<std::int64_t>(random() % 10);
      rules += "      - { name: n" + std::to_string(i) + ", " + RandomLimit(random, size + more) +
               " }\n";
    }
    Load(rules);
    for (int call = 0; call < 30; ++call) {
      const std::string query =
          "key=a&cost=" + std::to_string(random() % static_cast<std::uint64_t>(size) + 1);
      const Heard heard = Check(query);
      if (heard.status == 429) {
        WaitForRetryAfter(heard, /*by_seconds=*/call % 2 == 0);
        ASSERT_EQ(Check(query).status, 200) << "seed " << seed << ", " << query << "\n"
                                            << rules << heard.body;
      } else {
        ASSERT_EQ(heard.status, 200) << "seed " << seed << "\n" << rules << heard.body;
      }
      services_.clock.Advance(Micros{static_cast<std::int64_t>(random() % 500'000)});
    }
  }
}

}  // namespace
}  // namespace sluice::api

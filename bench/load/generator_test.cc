#include "load/generator.h"

#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "redis/testing/redis_server.h"

namespace sluice::bench {
namespace {

using redis::testing::RedisServer;
using std::chrono::milliseconds;

Generator Increment(const RedisServer& server, std::size_t connections, std::uint64_t keys) {
  return {server.port(), connections, Requests("INCR user:#######\r\n", keys), &ReadCount};
}

std::int64_t CountOf(const RedisServer& server, const std::string& command) {
  return server.Do(command).value().ToInteger().value_or(-1);
}

TEST(Generator, CountsAsManyRepliesAsTheServerHadRequests) {
  const RedisServer server;
  Generator generator = Increment(server, 3, 1);
  Histogram latencies;
  std::uint64_t answered = generator.Closed(1, milliseconds(20)).allowed;
  answered += generator.Closed(16, milliseconds(20)).allowed;
  answered += generator.Open(4, 5'000, milliseconds(20), latencies).allowed;
  EXPECT_GE(answered, 3U + 3U * 16U);
  EXPECT_EQ(CountOf(server, "GET user:0000000"), static_cast<std::int64_t>(answered));
}

TEST(Generator, ShowsEachKeyOnce) {
  const RedisServer server;
  Generator generator = Increment(server, 5, 1'000);
  EXPECT_EQ(generator.EachKeyOnce(16).allowed, 1'000U);
  EXPECT_EQ(CountOf(server, "DBSIZE"), 1'000);
}

TEST(Generator, SendsExactlyWhatIsDueInAnOpenLoopAndTimesAllOfIt) {
  const RedisServer server;
  Generator generator = Increment(server, 2, 10);
  Histogram latencies;
  const Tally tally = generator.Open(1, 2'000, milliseconds(100), latencies);
  EXPECT_EQ(tally.allowed, 200U);
  EXPECT_EQ(latencies.count(), 200U);
}

TEST(Generator, CountsALatencyFromWhenTheRequestWasDue) {
  const RedisServer server;
  // Each waits 20 ms for a list that nobody fills, behind those before it: with one due each
  // millisecond, the last of 20 has waited for 400 ms, less the 19 until it was due.
  const ReadReply read_null = [](std::string_view bytes) {
    constexpr std::string_view kNull = "*-1\r\n";
    return Reply{bytes.size() < kNull.size() ? 0 : kNull.size(),
                 bytes.starts_with(kNull) ? Verdict::kAllowed : Verdict::kWrong};
  };
  Generator generator(server.port(), 1, Requests("BLPOP list:####### 0.02\r\n", 1), read_null);
  Histogram latencies;
  EXPECT_EQ(generator.Open(1, 1'000, milliseconds(20), latencies).allowed, 20U);
  EXPECT_GE(latencies.Quantile(1), milliseconds(300));
  EXPECT_GE(latencies.Quantile(0.5), milliseconds(140));
}

TEST(Generator, ThrowsAnErrorReplyInsteadOfCountingIt) {
  const RedisServer server;
  server.Do("SET user:0000000 text");
  Generator generator = Increment(server, 1, 1);
  try {
    generator.Closed(1, milliseconds(20));
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("not an integer"), std::string::npos) << error.what();
  }
}

TEST(Generator, ThrowsIfTheServerGoes) {
  RedisServer server;
  Generator generator = Increment(server, 2, 1);
  server.Kill();
  EXPECT_THROW(generator.Closed(1, milliseconds(20)), std::runtime_error);
}

}  // namespace
}  // namespace sluice::bench

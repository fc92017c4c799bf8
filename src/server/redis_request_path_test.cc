// A request's way through sessions, limiter, leases, denials, the Redis store and its client, with
// a real Redis. A program of its own: it counts what is allocated.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "lease/redis/announcer.h"
#include "redis/testing/redis_server.h"
#include "server/testing/one_worker.h"

namespace sluice::server {
namespace {

using std::chrono::seconds;

constexpr std::string_view kRules = R"(
rules:
  - { id: api, match: { endpoint: "/" }, limit: 1000000/s }
  - { id: search, match: { endpoint: "/search" }, limits: [20/s, 100/m] }
  - { id: busy, match: { endpoint: "/busy" }, limit: 1000000/s, consistency: leased }
)";

TEST(RedisRequestPath, CommandsAllocateNothingInTheSteadyState) {
  constexpr int kRounds = 200;
  constexpr int kWindows = 10;
  constexpr int kWarmUp = 1'500;  // Until the client's list of deadlines has its size.
  constexpr std::string_view kEnd = "+PONG\r\n";
  redis::testing::RedisServer redis;
  testing::OneWorker worker(kRules, redis.ClientOptions());
  transport::Session& session = *worker.resp;
  const auto listens = [&] {
    const resp::Reply reply = redis.Do("PUBSUB NUMSUB " + std::string(lease::kChannel));
    return reply.value().at(1).integer() > 0;
  };
  std::string pipeline;
  for (int i = 0; i < 4; ++i) {  // Fewer than the least limit of the store queue.
    for (const std::string_view command : {"SLUICE.CHECK", "SLUICE.PEEK"}) {
      for (const std::string_view endpoint : {"/", "/search", "/busy"}) {
        pipeline.append(command).append(" api_key a-longer-key-of-a-client endpoint ");
        pipeline.append(endpoint).append("\r\n");
      }
    }
  }
  pipeline += "PING\r\n";

  // A list grows once more when the machine stalls: some windows may allocate. An allocation for
  // each request would show in all of them.
  bool steady = false;
  int rounds = 0;
  int windows = 0;
  std::size_t before = 0;
  std::size_t fewest = SIZE_MAX;
  const auto next_round = [&] {
    if (fewest == 0 || windows == kWindows) return true;
    if (!session.output().ends_with(kEnd)) return false;
    session.output().clear();
    ++rounds;
    if (!steady && rounds >= kWarmUp) {
      // The connection that receives announcements of other nodes is made meanwhile.
      steady = listens();
      rounds = 0;
      before = Allocations();
    } else if (steady && rounds == kRounds) {
      const std::size_t after = Allocations();
      fewest = std::min(fewest, after - before);
      before = after;
      rounds = 0;
      ++windows;
    }
    session.Receive(pipeline);
    return false;
  };
  session.Receive(pipeline);
  ASSERT_TRUE(worker.loop().RunUntil(next_round, SteadyClock::Now() + seconds(120)));
  EXPECT_EQ(fewest, 0U) << "of " << windows << " windows of " << kRounds << " rounds";
}

}  // namespace
}  // namespace sluice::server

// A program of its own: it counts what is allocated, by the store, the client, the codec and the
// loop.

#include <array>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "redis/testing/redis_cluster.h"
#include "store/redis/testing/store_fixture.h"

namespace sluice::store::testing {
namespace {

constexpr std::size_t kCalls = 300;  // More than one script call takes.

// The same calls again and again.
class Turns {
 public:
  Turns(net::Loop& loop, const redis::Options& options)
      : loop_(loop), client_(redis::MakeService(loop, options)), store_(loop, *client_, kOptions) {
    for (std::size_t i = 0; i < kCalls; ++i) {
      names_[i] = "a-client-with-a-longer-name-" + std::to_string(i);
      for (std::size_t j = 0; j < kUses; ++j) {
        uses_[i][j].key = {.scope = "rule:limit", .tag = names_[i], .rest = j == 0 ? "" : "more"};
        uses_[i][j].limit = (i + j) % 2 == 0 ? &plenty_ : &window_;
      }
      calls_[i].uses = {uses_[i].data(), 1 + i % kUses};
      calls_[i].context = this;
      calls_[i].on_done = [](StoreCall& call, void* context) {
        auto& self = *static_cast<Turns*>(context);
        self.failed_ += call.ok ? 0U : 1U;
        self.denied_ += call.allowed ? 0U : 1U;
        if (++self.answered_ == kCalls) self.EndTurn();
      };
    }
  }
  ~Turns() { client_->Close(); }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  void SetOperation(std::size_t call, Operation operation) { calls_[call].operation = operation; }

  /// Submits all calls in one turn, waits for the answers, and does it again. Returns what the
  /// second half of the turns allocated.
  std::size_t Run(int turns) {
    left_ = turns;
    half_ = turns / 2;
    Submit();
    EXPECT_TRUE(loop_.RunUntil([this] { return left_ == 0; }, SteadyClock::Now() + seconds(60)));
    return at_end_ - at_half_;
  }

  [[nodiscard]] std::size_t failed() const { return failed_; }
  [[nodiscard]] std::size_t denied() const { return denied_; }
  [[nodiscard]] RedisStoreStats stats() const { return store_.StatsApprox(); }

 private:
  void Submit() {
    answered_ = 0;
    for (StoreCall& call : calls_) store_.Submit(call);
  }
  void EndTurn() {
    if (--left_ == half_) {
      at_half_ = Allocations();
      denied_ = 0;
    }
    at_end_ = Allocations();
    if (left_ > 0) Submit();
  }

  static constexpr std::size_t kUses = 2;
  static constexpr RedisStoreOptions kOptions{.deadline = seconds(20)};

  const Limit plenty_ = *Limit::TokenBucket({.capacity = 50, .refill = Rate::PerSecond(1'000)});
  const Limit window_ = *Limit::FixedWindow({.limit = 30, .window = seconds(3'600)});
  net::Loop& loop_;
  std::unique_ptr<redis::Service> client_;
  RedisStore store_;
  std::array<std::string, kCalls> names_;
  std::array<std::array<KeyUse, kUses>, kCalls> uses_{};
  std::array<StoreCall, kCalls> calls_{};
  std::size_t answered_ = 0, failed_ = 0, denied_ = 0;
  int left_ = 0, half_ = 0;  ///< Turns.
  std::size_t at_half_ = 0, at_end_ = 0;
};

void ExpectNoAllocation(Turns& turns) {
  EXPECT_EQ(turns.Run(80), 0U) << "allocations";
  EXPECT_EQ(turns.failed(), 0U);
  EXPECT_GT(turns.denied(), 0U);
}

using RedisAllocations = RealRedisTest;

TEST_F(RedisAllocations, ChecksAllocateNothingInTheSteadyState) {
  Turns turns(loop_, server_.ClientOptions());
  ExpectNoAllocation(turns);
  EXPECT_GT(turns.stats().script_calls, 80U) << "a turn takes several script calls";
}

TEST_F(RedisAllocations, OtherOperationsInBetweenAllocateNothing) {
  Turns turns(loop_, server_.ClientOptions());
  for (std::size_t i = 0; i < kCalls; i += 30) turns.SetOperation(i, Operation::kPeek);
  ExpectNoAllocation(turns);
}

TEST(RedisClusterAllocations, ChecksOfOneSlotEachAllocateNothing) {
  net::Loop loop;
  const redis::testing::RedisCluster cluster(redis::testing::RedisCluster::Replicas::kNone);
  Turns turns(loop, cluster.ClientOptions());
  ExpectNoAllocation(turns);
}

}  // namespace
}  // namespace sluice::store::testing

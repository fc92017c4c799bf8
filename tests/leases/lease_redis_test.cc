#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "denial/denial_store.h"
#include "lease/leased_store.h"
#include "net/loop.h"
#include "redis/client.h"
#include "redis/testing/redis_server.h"
#include "store/redis/redis_store.h"

namespace sluice::lease {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using store::KeyUse;
using store::StoreCall;

/// A node that leases from a Redis: all that a process has, but for the process.
class Node {
 public:
  Node(net::Loop& loop, const redis::Options& options)
      : client_(loop, options),
        store_(std::in_place, loop, client_, store::RedisStoreOptions{.deadline = seconds(10)}),
        table_(TableOptions{.max_keys = 1'000, .nodes = 3}, denials_),
        remembering_(*store_, denials_, {.now = [] { return SteadyClock::Now(); }}),
        leased_(remembering_, table_, {.now = [] { return SteadyClock::Now(); }, .recall = {}}) {}
  ~Node() { store_.reset(); }  // Answers what is pending.
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void Check(const Limit& limit) {
    Asked& asked = NewAsked();
    asked.use = {};
    asked.use.key = {.scope = "rule:limit", .tag = "hot"};
    asked.use.limit = &limit;
    asked.use.may_lease = true;
    asked.call = {.operation = store::Operation::kCheck, .uses = {&asked.use, 1}};
    asked.call.context = &asked;
    asked.call.on_done = [](StoreCall& /*call*/, void* context) {
      auto& done = *static_cast<Asked*>(context);
      done.node->Count(done);
    };
    ++checks_;
    if (leased_.Submit(asked.call) == store::Completion::kNow) Count(asked);
  }
  void Sweep() { leased_.Sweep(); }

  [[nodiscard]] std::int64_t admitted() const { return admitted_; }
  [[nodiscard]] std::int64_t checks() const { return checks_; }
  [[nodiscard]] bool idle() const { return idle_.size() == asked_.size(); }
  [[nodiscard]] std::uint64_t store_calls() const { return store_->StatsApprox().calls; }

 private:
  struct Asked {
    Node* node = nullptr;
    KeyUse use;
    StoreCall call;
  };

  Asked& NewAsked() {
    if (idle_.empty()) {
      asked_.emplace_back().node = this;
      idle_.push_back(&asked_.back());
    }
    Asked& asked = *idle_.back();
    idle_.pop_back();
    return asked;
  }
  void Count(Asked& asked) {
    if (asked.call.ok && asked.call.allowed) ++admitted_;
    idle_.push_back(&asked);
  }

  std::int64_t admitted_ = 0;
  std::int64_t checks_ = 0;
  std::deque<Asked> asked_;
  std::vector<Asked*> idle_;
  redis::Client client_;
  std::optional<store::RedisStore> store_;
  denial::DenialTable denials_;
  LeaseTable table_;
  denial::DenialStore remembering_;
  LeasedStore leased_;
};

class LeasesOnRedis : public ::testing::TestWithParam<Algorithm> {
 protected:
  static constexpr std::int64_t kPerSecond = 4'000;

  static Limit LimitOf(Algorithm algorithm) {
    switch (algorithm) {
      case Algorithm::kFixedWindow:
        return *Limit::FixedWindow({.limit = kPerSecond, .window = seconds(1)});
      case Algorithm::kSlidingWindowCounter:
        return *Limit::SlidingWindowCounter({.limit = kPerSecond, .window = seconds(1)});
      default:
        return *Limit::TokenBucket({.capacity = kPerSecond, .refill = Rate::PerSecond(kPerSecond)});
    }
  }

  void Start(std::size_t node) {
    nodes_[node] = std::make_unique<Node>(loop_, server_.ClientOptions());
  }
  /// As a crash does: what it held is gone.
  void Stop(std::size_t node) {
    admitted_ += nodes_[node]->admitted();
    checks_ += nodes_[node]->checks();
    store_calls_ += nodes_[node]->store_calls();
    nodes_[node].reset();
  }
  /// Every node checks the key a few times in every turn.
  void Press(const Limit& limit, Micros duration) {
    const SteadyTime end = SteadyClock::Now() + duration;
    SteadyTime swept{};
    while (SteadyClock::Now() < end) {
      for (const auto& node : nodes_) {
        for (int i = 0; i < 8; ++i) node->Check(limit);
        if (loop_.Now() - swept > milliseconds(5)) node->Sweep();
      }
      if (loop_.Now() - swept > milliseconds(5)) swept = loop_.Now();
      loop_.Post([] {});  // The next turn comes without waiting for a reply.
      bool turned = false;
      loop_.RunUntil([&] { return std::exchange(turned, true); }, end);
    }
  }

  redis::testing::RedisServer server_;
  net::Loop loop_;
  std::array<std::unique_ptr<Node>, 3> nodes_;
  std::int64_t admitted_ = 0;
  std::int64_t checks_ = 0;
  std::uint64_t store_calls_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Algorithms, LeasesOnRedis,
                         ::testing::Values(Algorithm::kTokenBucket, Algorithm::kFixedWindow,
                                           Algorithm::kSlidingWindowCounter),
                         [](const auto& chosen) { return AlgorithmName(chosen.param); });

TEST_P(LeasesOnRedis, ThreeNodesAndACrashNeverAdmitMoreThanTheLimit) {
  const Limit limit = LimitOf(GetParam());
  for (std::size_t node = 0; node < nodes_.size(); ++node) Start(node);
  const SteadyTime begin = SteadyClock::Now();
  Press(limit, milliseconds(700));
  Stop(1);
  Start(1);
  Press(limit, milliseconds(700));
  for (std::size_t node = 0; node < nodes_.size(); ++node) Stop(node);
  const double elapsed = std::chrono::duration<double>(SteadyClock::Now() - begin).count();

  // Windows count in full, also those that began before or are not over.
  const double windows =
      GetParam() == Algorithm::kTokenBucket ? 1 + elapsed : std::floor(elapsed) + 2;
  EXPECT_LE(static_cast<double>(admitted_), kPerSecond * windows);
  EXPECT_GT(admitted_, kPerSecond);
  EXPECT_LT(static_cast<double>(store_calls_), 0.25 * static_cast<double>(checks_));
  std::printf("%lld checks, %lld admitted in %.2f s, %llu store calls\n",
              static_cast<long long>(checks_), static_cast<long long>(admitted_), elapsed,
              static_cast<unsigned long long>(store_calls_));
}

}  // namespace
}  // namespace sluice::lease

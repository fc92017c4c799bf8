// Whatever comes, in whatever order answers arrive: nodes that remember denials against a model
// that knows what the store would have said.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "algo/testing/choices.h"
#include "denial/denial_store.h"
#include "denial/testing/distant_store.h"

namespace sluice::denial::testing {
namespace {

using std::chrono::milliseconds;
using store::KeyUse;
using store::Operation;
using store::StoreCall;

constexpr std::array<std::string_view, 4> kKeys{"a", "b", "c", "d"};
constexpr std::size_t kNodes = 2;
constexpr std::size_t kLoops = 2;

/// Longer than any call waits for its answer.
constexpr Micros kLongestWait = milliseconds(50);

/// Two nodes with two event loops each, all of them on one store.
class World {
 public:
  World(std::uint64_t seed, bool store_fails) : choices_(seed), store_fails_(store_fails) {
    for (std::size_t i = 0; i < kKeys.size(); ++i) {
      const auto algorithm =
          choices_.OneOf({Algorithm::kTokenBucket, Algorithm::kLeakyBucket, Algorithm::kFixedWindow,
                          Algorithm::kSlidingWindowLog, Algorithm::kSlidingWindowCounter});
      limits_.push_back(algo::testing::AnySmallLimit(choices_, algorithm, std::chrono::seconds(3)));
    }
    for (std::size_t i = 0; i < loops_.size(); ++i) Make(loops_[i], i / kLoops);
  }

  void Run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      Pass(Micros{1});
      Loop& loop = loops_[choices_.Below(loops_.size())];
      switch (choices_.Below(10)) {
        case 0:
          Pass(Micros{choices_.Between(1, choices_.OneOf<std::int64_t>({50, 9'000, 400'000}))});
          break;
        case 1:
          loop.store.RunOne();
          break;
        case 2:
        case 3:
          AnswerOne(loop);
          break;
        case 4:
          DeliverOneMessage();
          break;
        case 5:
          if (choices_.OneIn(4)) Change(loop);
          break;
        default:
          Check(loop);
      }
    }
    for (Loop& loop : loops_) loop.store.AnswerAll();
    for (const Sent& sent : sent_) {
      EXPECT_EQ(sent.asked.times_done, sent.asked.at_once() ? 0 : 1);
    }
  }

  [[nodiscard]] int denied_from_memory() const { return denied_from_memory_; }
  [[nodiscard]] int denied_wrongly() const { return denied_wrongly_; }

 private:
  struct Loop {
    std::size_t node = 0;
    DistantStore store;
    std::unique_ptr<DenialStore> remembering;
    SteadyTime expires = SteadyTime::max();
  };
  /// When something was last given back to a key, and until when each node knows of that.
  struct Lifted {
    SteadyTime at{};
    std::array<SteadyTime, kNodes> known_until{};
  };
  struct Sent {
    Asked asked;
    World* world = nullptr;
    std::size_t node = 0;
  };

  void Make(Loop& loop, std::size_t node) {
    loop.node = node;
    if (&loop != &loops_[0]) loop.store.ShareKeysOf(loops_[0].store);
    loop.store.on_run = [this](const StoreCall& call) {
      if (call.operation != Operation::kCheck) LiftedOf(call.uses[0].key).at = now_;
    };
    loop.remembering = std::make_unique<DenialStore>(
        loop.store, tables_[node],
        StoreOptions{
            .now = [this] { return now_; },
            .deadline = kLongestWait,
            .changed = [this, node](const Key& key) { messages_.emplace_back(1 - node, key.tag); },
            .wake = [&loop](SteadyTime when) { loop.expires = when; }});
  }

  KeyUse AnyUse() {
    const std::size_t key = choices_.Below(kKeys.size());
    KeyUse use;
    use.key = {.scope = "rule:limit", .tag = kKeys[key]};
    use.limit = &limits_[key];
    use.cost = choices_.OneIn(3) ? choices_.Between(1, 6) : 1;
    return use;
  }
  Sent& Add(const Loop& loop) {
    Sent& sent = sent_.emplace_back();
    sent.world = this;
    sent.node = loop.node;
    return sent;
  }
  Lifted& LiftedOf(const Key& key) { return lifted_[std::string(key.tag)]; }

  void Check(Loop& loop) {
    std::vector<KeyUse> uses{AnyUse()};
    while (choices_.OneIn(4) && uses.size() < 3) {
      KeyUse& use = uses.emplace_back(AnyUse());
      if (choices_.OneIn(3)) use.mode = choices_.OneOf({Mode::kShadow, Mode::kQuota});
      use.count_denied = choices_.OneIn(6);
    }
    const Micros timeout{choices_.OneIn(3) ? choices_.Between(1, 40'000) : 0};
    Sent& sent = Add(loop);
    sent.asked.Submit(*loop.remembering, std::move(uses), Operation::kCheck, timeout);
    if (sent.asked.at_once()) Judge(sent);
  }

  void Change(Loop& loop) {
    if (choices_.OneIn(8)) {  // By hand: no node is notified.
      loops_[0].store.ForgetAll();
      for (const std::string_view name : kKeys) lifted_[std::string(name)].at = now_;
      return;
    }
    KeyUse use = AnyUse();
    const auto operation =
        choices_.OneOf({Operation::kReset, Operation::kGrant, Operation::kAdjust});
    if (operation == Operation::kAdjust) {
      use.receipt = {.amount = choices_.Between(0, 9), .from_grant = 0, .at = loop.store.now};
      use.cost = choices_.Between(0, 9);
    }
    Sent& sent = Add(loop);
    sent.asked.Submit(*loop.remembering, {use}, operation, Micros{0});
    sent.asked.call.context = &sent;
    sent.asked.call.on_done = [](StoreCall& call, void* context) {
      Sent& done = *static_cast<Sent*>(context);
      ++done.asked.times_done;
      World& world = *done.world;
      world.LiftedOf(call.uses[0].key).known_until[done.node] = world.now_;
    };
  }

  void AnswerOne(Loop& loop) {
    if (store_fails_ && choices_.OneIn(4)) return loop.store.LoseFirst();
    // Not at the moment at which it runs.
    loop.store.FirstHasRun() ? void(loop.store.AnswerFirst()) : loop.store.RunOne();
  }

  void DeliverOneMessage() {
    if (messages_.empty()) return;
    const auto [node, name] = messages_.front();
    messages_.pop_front();
    if (choices_.OneIn(4)) return;  // Lost.
    const Key key{.scope = "rule:limit", .tag = name};
    tables_[node].Drop(key, now_);
    LiftedOf(key).known_until[node] = now_;
  }

  // Whether the node may deny the key although something was given back: it was not notified, and a
  // real check had no time to find out.
  bool MayNotKnow(std::size_t node, const Key& key) {
    const Lifted& lifted = LiftedOf(key);
    const bool had_time =
        now_ - lifted.at > kLongestRecheck + kFirstRecheck + kLongestWait && !store_fails_;
    return lifted.at > lifted.known_until[node] && !had_time;
  }

  // The call was denied from memory.
  void Judge(const Sent& sent) {
    const Asked& asked = sent.asked;
    ASSERT_TRUE(asked.call.ok);
    ASSERT_FALSE(asked.call.allowed);
    ++denied_from_memory_;
    std::vector<KeyUse> uses = asked.uses;
    StoreCall peek{.operation = Operation::kPeek, .uses = uses, .now = loops_[0].store.now};
    loops_[0].store.model().Submit(peek);
    ASSERT_TRUE(peek.ok);
    if (std::any_of(uses.begin(), uses.end(),
                    [&](const KeyUse& use) { return MayNotKnow(sent.node, use.key); })) {
      denied_wrongly_ += peek.allowed ? 1 : 0;
      return;
    }
    EXPECT_FALSE(peek.allowed) << "the store would have allowed it";
    if (uses.size() > 1) return;  // One of several may be due, and so be wrong.
    const Outcome outcome = uses[0].verdict.outcome;
    EXPECT_TRUE(asked.uses[0].verdict.outcome != Outcome::kNeverFits ||
                outcome == Outcome::kNeverFits);
    EXPECT_LE(asked.uses[0].verdict.retry_after, uses[0].verdict.retry_after + Micros{2});
  }

  void Pass(Micros time) {
    for (constexpr Micros kStep = milliseconds(4); time > Micros{0}; time -= kStep) {
      const Micros step = std::min(time, kStep);
      now_ += step;
      for (Loop& loop : loops_) {
        loop.store.now += step;
        loop.store.AnswerUntil(loop.store.now - (kLongestWait - kStep));
        if (now_ < loop.expires) continue;
        loop.expires = SteadyTime::max();
        loop.remembering->ExpireCalls();
      }
    }
  }

  algo::testing::RandomChoices choices_;
  const bool store_fails_;
  std::vector<Limit> limits_;
  SteadyTime now_{std::chrono::hours(5)};
  std::array<DenialTable, kNodes> tables_;
  std::array<Loop, kNodes * kLoops> loops_;
  std::deque<std::pair<std::size_t, std::string>> messages_;  ///< To a node, about a key.
  std::map<std::string, Lifted> lifted_;
  std::deque<Sent> sent_;
  int denied_from_memory_ = 0;
  int denied_wrongly_ = 0;
};

void RunMany(bool store_fails) {
  int denied_from_memory = 0;
  int denied_wrongly = 0;
  for (const std::uint64_t seed : algo::testing::TestSeeds(40)) {
    SCOPED_TRACE("SLUICE_TEST_SEED=" + std::to_string(seed));
    World world(seed, store_fails);
    world.Run(3'000);
    denied_from_memory += world.denied_from_memory();
    denied_wrongly += world.denied_wrongly();
    if (::testing::Test::HasFailure()) return;
  }
  // What is judged did happen.
  EXPECT_GT(denied_from_memory, 1'000);
  EXPECT_GT(denied_wrongly, 0);
}

TEST(RandomDenials, AreThoseOfTheStoreAndOutliveWhatIsGivenBackForASecondAtMost) { RunMany(false); }

TEST(RandomDenials, NeverOutliveReportedChangesAlsoIfTheStoreFails) { RunMany(true); }

}  // namespace
}  // namespace sluice::denial::testing

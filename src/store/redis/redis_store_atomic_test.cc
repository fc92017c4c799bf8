// What travels together happens together: whatever Redis refuses, a script call did all it was
// asked to, or nothing.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/seed.h"
#include "store/redis/testing/store_fixture.h"

namespace sluice::store::testing {
namespace {

struct Refusal {
  const char* name;
  const char* begin;  ///< From here on Redis refuses some writes.
  const char* end;
  /// Without memory, Redis refuses what needs more of it, and only as a script's first write: one
  /// that begins by freeing something may go on.
  bool is_partial;
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

// Keys of all algorithms, and what should be used of each: nothing comes back while a test runs.
class RedisStoreAtomicTest : public RealRedisTest, public ::testing::WithParamInterface<Refusal> {
 protected:
  struct Subject {
    std::string name;
    const Limit* limit;
    std::int64_t used = 0;
    std::vector<std::uint64_t> slots{};
  };

  RedisStoreAtomicTest() {
    for (const Limit& limit : limits_) {
      for (int i = 0; i < 3; ++i) {
        subjects_.push_back({.name = "key" + std::to_string(subjects_.size()), .limit = &limit});
      }
    }
  }

  std::size_t Below(std::size_t bound) { return random_() % bound; }

  Asked& SubmitOne(Subject& subject) {
    KeyUse use;
    use.limit = subject.limit;
    use.cost = static_cast<std::int64_t>(1 + Below(3));
    Operation operation = Operation::kCheck;
    if (!subject.slots.empty() && Below(2) == 0) {
      operation = Operation::kRelease;
      use.slot = subject.slots.back();
    } else if (Below(10) == 0) {
      operation = Operation::kReset;
    }
    return asker_.Submit(operation, use, subject.name);
  }

  static void Count(const Asked& asked, Subject& subject) {
    const KeyUse& use = asked.uses[0];
    switch (asked.call.operation) {
      case Operation::kCheck:
        if (!asked.call.allowed) return;
        subject.used += use.cost;
        // Slots of one are all that the test gives back.
        if (use.receipt.slot != 0 && use.cost == 1) subject.slots.push_back(use.receipt.slot);
        return;
      case Operation::kRelease:
        if (asked.call.affected == 0) return;
        subject.used -= 1;
        std::erase(subject.slots, use.slot);
        return;
      default:
        subject.used = 0;
        subject.slots.clear();
    }
  }

  std::map<std::string, std::string> Snapshot() {
    std::map<std::string, std::string> all;
    for (const Subject& subject : subjects_) {
      all[subject.name] = Do("DUMP " + RedisKeyOf(subject.name));
    }
    return all;
  }

  // Returns whether Redis did it.
  bool RunBatch() {
    asker_.Clear();
    std::vector<Subject*> about;
    const std::size_t calls = 1 + Below(8);
    for (std::size_t i = 0; i < calls; ++i) {
      about.push_back(&subjects_[Below(subjects_.size())]);
      SubmitOne(*about.back());
    }
    EXPECT_TRUE(asker_.WaitForAll());
    const bool done = asker_.asked()[0].call.ok;
    for (std::size_t i = 0; i < calls; ++i) {
      const Asked& asked = asker_.asked()[i];
      EXPECT_EQ(asked.call.ok, done) << "all or none";
      if (!asked.call.ok) {
        EXPECT_EQ(asked.call.error, ErrorCode::kStoreError);
      }
      if (done) Count(asked, *about[i]);
    }
    return done;
  }

  const unsigned seed_ = TestSeed();
  std::mt19937_64 random_{seed_};
  const std::array<Limit, 6> limits_ = {
      SlowBucket(20),
      *Limit::LeakyBucket({.capacity = 20, .leak = Rate::PerDay(1)}),
      *Limit::FixedWindow({.limit = 20, .window = kMaxWindow}),
      *Limit::SlidingWindowCounter({.limit = 20, .window = kMaxWindow}),
      *Limit::SlidingWindowLog({.limit = 20, .window = kMaxWindow}),
      *Limit::Concurrency({.limit = 20, .time_to_live = kMaxWindow})};
  std::vector<Subject> subjects_;
  Asker asker_{loop_, server_.ClientOptions()};
};

TEST_P(RedisStoreAtomicTest, AScriptCallIsAtomic) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  int done = 0;
  int refused = 0;
  for (int round = 0; round < 10 && !HasFailure(); ++round) {
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(RunBatch());
    Do(GetParam().begin);
    for (int i = 0; i < 20 && !HasFailure(); ++i) {
      const auto before = Snapshot();
      if (RunBatch()) {
        ++done;
      } else {
        ++refused;
        EXPECT_EQ(Snapshot(), before);
      }
    }
    for (const Subject& subject : subjects_) {
      EXPECT_EQ(asker_.Used(*subject.limit, subject.name), subject.used) << subject.name;
    }
    Do(GetParam().end);
  }
  EXPECT_GT(refused, 0);
  if (GetParam().is_partial) {
    EXPECT_GT(done, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RedisStoreAtomicTest,
                         ::testing::Values(Refusal{"WithoutMemory", "CONFIG SET maxmemory 1",
                                                   "CONFIG SET maxmemory 0", true},
                                           Refusal{"WithoutReplicas",
                                                   "CONFIG SET min-replicas-to-write 1",
                                                   "CONFIG SET min-replicas-to-write 0", false}),
                         [](const auto& test) { return std::string(test.param.name); });

// ---- Sorted sets that look like ours and are not.

class RedisStoreGarbledSetTest : public RealRedisTest {
 protected:
  // The head of a set that says it uses 7, and an entry that says otherwise.
  void Garble(const std::string& kind, const std::string& entry) {
    Do("ZADD " + RedisKeyOf("garbled") + " -7 " + kind + " -9000000000000000 fresh -0.5 grant " +
       entry);
  }

  const std::vector<std::pair<std::string, Limit>> limits_ = {
      {"log", *Limit::SlidingWindowLog({.limit = 5, .window = kMaxWindow})},
      {"slots", *Limit::Concurrency({.limit = 5, .time_to_live = kMaxWindow})}};
};

TEST_F(RedisStoreGarbledSetTest, AForeignEntryFailsItsCallOnly) {
  Asker asker(loop_, server_.ClientOptions());
  for (const auto& [kind, limit] : limits_) {
    Do("FLUSHALL");
    Garble(kind, "9 alice");
    const Asked& first = asker.Check(limit, "ours");
    const Asked& garbled = asker.Check(limit, "garbled");
    const Asked& last = asker.Check(limit, "ours");
    ASSERT_TRUE(asker.WaitForAll());
    EXPECT_TRUE(first.allowed()) << kind << ": " << ErrorName(first.call.error);
    EXPECT_TRUE(last.allowed()) << kind << ": " << ErrorName(last.call.error);
    EXPECT_FALSE(garbled.call.ok) << kind;
    EXPECT_EQ(std::string(ErrorName(garbled.call.error)), "foreign_value") << kind;
    EXPECT_EQ(asker.Used(limit, "ours"), 2) << kind;
  }
}

TEST_F(RedisStoreGarbledSetTest, ATruncatedValueDoesNotBlockRedis) {
  Asker asker(loop_, server_.ClientOptions(), seconds(3));
  for (const auto& [kind, limit] : limits_) {
    Do("FLUSHALL");
    Garble(kind, "4000000000000000 4000000000000000:1");  // In the year 2096.
    const Asked& garbled = asker.RunCheck(limit, "garbled");
    EXPECT_FALSE(garbled.call.ok) << kind;
    EXPECT_EQ(std::string(ErrorName(garbled.call.error)), "foreign_value") << kind;
    if (HasFailure()) return server_.Kill();  // Redis loops and can't be asked to stop.
  }
}

}  // namespace
}  // namespace sluice::store::testing

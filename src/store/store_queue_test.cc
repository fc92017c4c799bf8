#include "store/store_queue.h"

#include <cstddef>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::store {
namespace {

using namespace std::chrono_literals;

constexpr Micros kLongest = 25ms;

/// A store that answers calls in their order, so many in each millisecond.
struct SlowStore {
  explicit SlowStore(std::size_t calls_per_millisecond) : rate(calls_per_millisecond) {}

  void Ask() {
    calls.push_back({++numbers, now});
    queue.Began(reinterpret_cast<const void*>(calls.back().number), now);
  }
  /// Lets a millisecond pass. Returns the longest wait of the calls that are answered.
  Micros Pass() {
    now += 1ms;
    Micros longest{0};
    for (std::size_t i = 0; i < rate && !calls.empty(); ++i) {
      if (calls.front().asked + distance > now) break;
      longest = std::max(longest, now - calls.front().asked);
      queue.Ended(reinterpret_cast<const void*>(calls.front().number), now, true);
      calls.pop_front();
    }
    return longest;
  }

  /// No call is answered any more.
  void TimeOut(Micros deadline) {
    now += deadline;
    for (const Asked& call : calls) {
      queue.Ended(reinterpret_cast<const void*>(call.number), now, false);
    }
    calls.clear();
  }

  struct Asked {
    std::uintptr_t number;
    SteadyTime asked;
  };
  std::size_t rate;
  Micros distance{0};  ///< No call is answered sooner.
  StoreQueue queue{kLongest};
  SteadyTime now{1h};
  std::uintptr_t numbers = 0;
  std::deque<Asked> calls;
};

// Asks as much as may be asked, as connections do that always have more.
Micros Flood(SlowStore& store, std::vector<std::size_t>& own, int milliseconds) {
  Micros longest{0};
  std::deque<std::size_t> owners;
  for (std::size_t i = 0; i < own.size(); ++i) {
    store.queue.AddConnection();
  }
  for (int t = 0; t < milliseconds; ++t) {
    bool asked = true;
    while (asked) {
      asked = false;
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (!store.queue.MayAsk(own[i])) continue;
        asked = true;
        ++own[i];
        owners.push_back(i);
        store.Ask();
      }
    }
    const std::size_t before = store.calls.size();
    const Micros waited = store.Pass();
    for (std::size_t i = store.calls.size(); i < before; ++i) {
      --own[owners.front()];
      owners.pop_front();
    }
    if (t > milliseconds / 2) longest = std::max(longest, waited);
  }
  return longest;
}

TEST(StoreQueueTest, UnderAFloodWaitsStayNearTheMaximum) {
  for (const std::size_t rate : {5U, 50U, 500U, 5000U}) {
    SCOPED_TRACE(rate);
    SlowStore store(rate);
    std::vector<std::size_t> own(200);
    const Micros longest = Flood(store, own, 2000);
    const auto one_each = std::chrono::milliseconds(own.size() / rate);
    EXPECT_LE(longest, std::max<Micros>(kLongest, one_each + kLongest / 2));
  }
}

TEST(StoreQueueTest, TheQueueIsLongEnoughToKeepTheStoreBusy) {
  SlowStore store(500);
  std::vector<std::size_t> own(8);
  Flood(store, own, 1000);
  EXPECT_GE(store.calls.size(), 500 * 5U);
}

TEST(StoreQueueTest, TheLimitFollowsAStoreThatBecomesSlower) {
  SlowStore store(1000);
  std::vector<std::size_t> own(10);
  Flood(store, own, 500);
  const std::size_t fast = store.queue.limit();
  store.rate = 20;
  // What was asked at the old rate is answered first.
  while (!store.calls.empty()) store.Pass();
  std::vector<std::size_t> fresh(10);
  Flood(store, fresh, 3000);
  EXPECT_LT(store.queue.limit(), fast / 10);
}

TEST(StoreQueueTest, ADistantStoreIsNotTreatedAsASlowOne) {
  SlowStore store(1000);
  store.distance = 20ms;
  for (int i = 0; i < 50; ++i) {
    store.Ask();
    while (!store.calls.empty()) store.Pass();
  }
  std::vector<std::size_t> own(10);
  const Micros longest = Flood(store, own, 3000);
  EXPECT_GE(store.queue.limit(), 20 * 1000U) << "what fits onto the way";
  EXPECT_LE(longest, store.distance + kLongest);
}

TEST(StoreQueueTest, CallsThatTimeOutLowerTheLimit) {
  SlowStore store(100);
  std::vector<std::size_t> own(4);
  Flood(store, own, 500);
  while (!store.calls.empty()) store.Pass();
  for (int i = 0; i < 20; ++i) {
    for (int call = 0; call < 100; ++call) store.Ask();
    store.TimeOut(50ms);
  }
  EXPECT_EQ(store.queue.limit(), StoreQueue::kLeastLimit);
  // What a call took that timed out is not the way to the store.
  std::vector<std::size_t> fresh(4);
  EXPECT_LE(Flood(store, fresh, 2000), kLongest);
}

TEST(StoreQueueTest, ConnectionsShareTheLimitEvenly) {
  SlowStore store(100);
  std::vector<std::size_t> own(10);
  Flood(store, own, 500);
  for (const std::size_t calls : own) EXPECT_LE(calls, store.queue.limit() / own.size() + 1);
}

TEST(StoreQueueTest, AConnectionWithoutCallsIsAdmittedAlthoughOthersFillTheirShares) {
  SlowStore store(100);
  std::vector<std::size_t> own(4);
  Flood(store, own, 500);
  EXPECT_FALSE(store.queue.MayAsk(store.queue.limit()));
  EXPECT_TRUE(store.queue.MayAsk(0));
}

TEST(StoreQueueTest, WhenVeryManyConnectionsHaveOneCallEachTheNextOneWaits) {
  StoreQueue queue(kLongest);
  std::size_t asked = 0;
  for (; queue.MayAsk(0) && asked < 100'000; ++asked) {
    queue.AddConnection();
    queue.Began(&queue, SteadyTime{1h});
  }
  EXPECT_EQ(asked, StoreQueue::kFirstLimit * 2);
}

TEST(StoreQueueTest, ACallWithoutAQueueDoesNotLowerTheLimit) {
  SlowStore store(1);
  for (int i = 0; i < 100; ++i) {
    store.Ask();
    store.Pass();
  }
  EXPECT_GE(store.queue.limit(), StoreQueue::kFirstLimit);
}

}  // namespace
}  // namespace sluice::store

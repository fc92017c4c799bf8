#include "transport/handshake_queue.h"

#include <deque>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

constexpr std::uint64_t kFlood = 1;
constexpr std::uint64_t kGood = 2;

class HandshakeQueueTest : public ::testing::Test {
 protected:
  HandshakeQueue::Entry& Add(std::uint64_t origin) {
    HandshakeQueue::Entry& entry = entries_.emplace_back();
    entry.origin = origin;
    queue_.Add(entry, now_);
    return entry;
  }
  // The addresses of the next ones.
  std::vector<std::uint64_t> Next(std::size_t count) {
    std::vector<std::uint64_t> origins;
    while (origins.size() < count) {
      HandshakeQueue::Entry* const next = queue_.Next(now_);
      if (next == nullptr) break;
      origins.push_back(next->origin);
    }
    return origins;
  }

  SteadyTime now_{seconds(1000)};
  HandshakeBudget budget_{10};
  Counter delayed_;
  HandshakeQueue queue_{budget_, delayed_};
  std::deque<HandshakeQueue::Entry> entries_;
};

TEST_F(HandshakeQueueTest, AddressesTakeTurnsHoweverManyOneHas) {
  for (int i = 0; i < 1000; ++i) Add(kFlood);
  Add(kGood);
  Add(3);
  EXPECT_THAT(Next(4), ElementsAre(kFlood, kGood, 3, kFlood));
}

TEST_F(HandshakeQueueTest, WithoutBudgetAnAddressWaitsAndOthersDoNot) {
  for (int i = 0; i < 1000; ++i) Add(kFlood);
  EXPECT_EQ(Next(1000).size(), 10U);
  EXPECT_FALSE(queue_.has_ready()) << "it is not polled";
  EXPECT_TRUE(queue_.has_parked());
  EXPECT_EQ(delayed_.value(), 1U);
  Add(kGood);
  EXPECT_THAT(Next(2), ElementsAre(kGood));
  now_ += milliseconds(500);
  queue_.Retry();
  EXPECT_EQ(Next(1000).size(), 5U);
}

TEST_F(HandshakeQueueTest, StartedHandshakesAreFinishedFirstEvenWithoutBudget) {
  HandshakeQueue::Entry& first = Add(kFlood);
  for (int i = 0; i < 20; ++i) Add(kFlood);
  EXPECT_EQ(queue_.Next(now_), &first);
  EXPECT_EQ(Next(1000).size(), 9U);
  queue_.Add(first, now_);  // Its client has answered.
  EXPECT_EQ(queue_.Next(now_), &first);
  EXPECT_EQ(queue_.Next(now_), nullptr);
  queue_.Succeeded(first);
  queue_.Retry();
  EXPECT_EQ(Next(1000).size(), 1U) << "it gave back what it took";
}

TEST_F(HandshakeQueueTest, ExemptConnectionsAreNeverDelayed) {
  for (int i = 0; i < 100; ++i) {
    HandshakeQueue::Entry& entry = entries_.emplace_back();
    entry.origin = kGood;
    entry.has_budget = true;
    queue_.Add(entry, now_);
  }
  EXPECT_EQ(Next(1000).size(), 100U);
  EXPECT_EQ(delayed_.value(), 0U);
}

TEST_F(HandshakeQueueTest, RemovedEntriesAreDropped) {
  std::vector<HandshakeQueue::Entry*> flood;
  for (int i = 0; i < 20; ++i) flood.push_back(&Add(kFlood));
  Next(1000);
  ASSERT_TRUE(queue_.has_parked());
  for (HandshakeQueue::Entry* entry : flood) queue_.Remove(*entry);
  EXPECT_FALSE(queue_.has_parked());
  EXPECT_FALSE(queue_.has_ready());
  Add(kGood);
  EXPECT_THAT(Next(2), ElementsAre(kGood));
}

}  // namespace
}  // namespace sluice::transport

#include "redis/call_queue.h"

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/seed.h"

namespace sluice::redis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SteadyTime At(int micros) { return SteadyTime(Micros(micros)); }

class CallQueueTest : public ::testing::Test {
 protected:
  void Push(const std::string& name, SteadyTime deadline = SteadyTime::max()) {
    queue_.Push("<" + name + ">", deadline,
                [this, name](const Answer&) { called_.push_back(name); });
  }

  std::string Take() {
    std::string out;
    queue_.TakeCommands(out);
    return out;
  }

  // Who a handler belongs to; "" if it is empty.
  std::string NameOf(const Handler& handler) {
    if (!handler) return "";
    const CallError error;
    called_.clear();
    handler(Answer(error));
    return called_.at(0);
  }

  // "sent a", "unsent b"
  std::vector<std::string> NamesOf(const std::vector<CallQueue::Ended>& ended) {
    std::vector<std::string> names;
    for (const auto& call : ended) {
      names.push_back((call.ran == Execution::kUnknown ? "sent " : "unsent ") +
                      NameOf(call.handler));
    }
    return names;
  }

  std::vector<std::string> Expire(SteadyTime now) {
    std::vector<CallQueue::Ended> ended;
    queue_.PopExpired(now, ended);
    return NamesOf(ended);
  }

  CallQueue queue_;
  std::vector<std::string> called_;
};

TEST_F(CallQueueTest, CommandsLeaveTogetherAndRepliesComeInOrder) {
  Push("a");
  Push("b");
  EXPECT_EQ(queue_.unsent(), 2U);
  EXPECT_EQ(queue_.unsent_bytes(), 6U);
  EXPECT_EQ(Take(), "<a><b>");
  Push("c");
  EXPECT_EQ(queue_.in_flight(), 2U);
  EXPECT_EQ(NameOf(queue_.PopReplied()), "a");
  EXPECT_EQ(Take(), "<c>");
  EXPECT_EQ(NameOf(queue_.PopReplied()), "b");
  EXPECT_EQ(NameOf(queue_.PopReplied()), "c");
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(CallQueueTest, CommandsAreAppendedToWhatIsThere) {
  Push("a");
  std::string out = "before";
  queue_.TakeCommands(out);
  EXPECT_EQ(out, "before<a>");
}

TEST_F(CallQueueTest, ASentCallThatTimedOutKeepsItsPlace) {
  Push("a", At(10));
  Push("b", At(20));
  Take();
  EXPECT_THAT(Expire(At(9)), IsEmpty());
  EXPECT_FALSE(queue_.OldestTimedOut());
  EXPECT_THAT(Expire(At(10)), ElementsAre("sent a"));
  EXPECT_TRUE(queue_.OldestTimedOut());
  EXPECT_EQ(queue_.in_flight(), 2U);
  EXPECT_EQ(NameOf(queue_.PopReplied()), "");
  EXPECT_EQ(NameOf(queue_.PopReplied()), "b");
}

TEST_F(CallQueueTest, ACallThatTimedOutUnsentIsNeverSent) {
  Push("a", At(30));
  Push("b", At(10));
  Push("c", At(30));
  EXPECT_THAT(Expire(At(20)), ElementsAre("unsent b"));
  EXPECT_EQ(queue_.unsent(), 2U);
  EXPECT_EQ(queue_.unsent_bytes(), 6U);
  EXPECT_EQ(Take(), "<a><c>");
  EXPECT_EQ(queue_.in_flight(), 2U);
  EXPECT_EQ(NameOf(queue_.PopReplied()), "a");
  EXPECT_THAT(Expire(At(30)), ElementsAre("sent c"));
}

TEST_F(CallQueueTest, DeadlinesNeedNotComeInOrder) {
  Push("late", At(50));
  Push("never");
  Push("early", At(10));
  EXPECT_EQ(queue_.NextDeadline(), At(10));
  Take();
  EXPECT_THAT(Expire(At(10)), ElementsAre("sent early"));
  EXPECT_EQ(queue_.NextDeadline(), At(50));
  EXPECT_EQ(NameOf(queue_.PopReplied()), "late");
  EXPECT_EQ(queue_.NextDeadline(), SteadyTime::max());
}

TEST_F(CallQueueTest, WhenAConnectionEndsUnsentCallsRemain) {
  Push("a");
  Push("b", At(10));
  Take();
  Expire(At(10));
  Push("c");
  std::vector<CallQueue::Ended> ended;
  queue_.PopInFlight(ended);
  EXPECT_THAT(NamesOf(ended), ElementsAre("sent a"));
  EXPECT_EQ(queue_.in_flight(), 0U);
  EXPECT_EQ(Take(), "<c>");
}

TEST_F(CallQueueTest, UnsentCallsCanBeRemoved) {
  Push("a");
  Take();
  Push("b", At(10));
  Push("c", At(20));
  Expire(At(10));
  std::vector<CallQueue::Ended> ended;
  queue_.PopUnsent(ended);
  EXPECT_THAT(NamesOf(ended), ElementsAre("unsent c"));
  EXPECT_EQ(queue_.unsent_bytes(), 0U);
  Push("d", At(20));
  EXPECT_EQ(Take(), "<d>");
  EXPECT_THAT(Expire(At(20)), ElementsAre("sent d")) << "once, though c had the same number";
}

TEST_F(CallQueueTest, TimedOutCallsDoNotPileUp) {
  Push("patient");
  for (int i = 0; i < 100'000; ++i) {
    Push("x", At(i));
    Expire(At(i));
  }
  EXPECT_EQ(queue_.unsent(), 1U);
  EXPECT_EQ(Take(), "<patient>");
}

// Against a list that does the obvious.
TEST_F(CallQueueTest, ItBehavesLikeAListOfCalls) {
  struct Listed {
    std::string name;
    SteadyTime deadline;
    bool sent = false;
    bool over = false;
  };
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::deque<Listed> list;
  int now = 0;
  for (int step = 0; step < 50'000; ++step) {
    switch (random() % 8) {
      case 0: {
        std::string expected;
        for (Listed& call : list) {
          if (!call.sent && !call.over) expected += "<" + call.name + ">";
        }
        std::erase_if(list, [](const Listed& call) { return call.over && !call.sent; });
        for (Listed& call : list) call.sent = true;
        ASSERT_EQ(Take(), expected);
        break;
      }
      case 1:
      case 2:
      case 3:
        if (!list.empty() && list.front().sent) {
          ASSERT_EQ(NameOf(queue_.PopReplied()), list.front().over ? "" : list.front().name);
          list.pop_front();
        }
        break;
      case 4: {
        now += static_cast<int>(random() % 20);
        std::vector<std::string> expected;
        for (Listed& call : list) {
          if (call.over || call.deadline > At(now)) continue;
          call.over = true;
          expected.push_back((call.sent ? "sent " : "unsent ") + call.name);
        }
        ASSERT_THAT(Expire(At(now)), ::testing::UnorderedElementsAreArray(expected));
        break;
      }
      default:
        list.push_back({std::to_string(step), At(now + static_cast<int>(random() % 100))});
        Push(list.back().name, list.back().deadline);
    }
    ASSERT_EQ(queue_.in_flight(), std::count_if(list.begin(), list.end(),
                                                [](const Listed& call) { return call.sent; }));
  }
}

}  // namespace
}  // namespace sluice::redis

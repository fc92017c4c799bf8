#include "wire/reply_queue.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::wire {
namespace {

TEST(ReplyQueue, WritesAReplyImmediatelyIfNoneIsPending) {
  std::string output;
  ReplyPlaces places;
  ReplyQueue queue(output, places);
  queue.Now() += "a";
  EXPECT_EQ(output, "a");
  EXPECT_TRUE(queue.empty());
}

TEST(ReplyQueue, HoldsRepliesBackUntilTheOneBeforeIsFinished) {
  std::string output;
  ReplyPlaces places;
  ReplyQueue queue(output, places);
  queue.Now() += "a";
  auto& b = queue.Later();
  queue.Now() += "c";
  queue.Now() += "d";
  EXPECT_EQ(output, "a");
  b.text += "b";
  queue.Finish(b);
  EXPECT_EQ(output, "abcd");
  EXPECT_TRUE(queue.empty());
  queue.Now() += "e";
  EXPECT_EQ(output, "abcde");
}

TEST(ReplyQueue, KeepsTheOrderOfRequestsWhateverIsFinishedFirst) {
  std::string output;
  ReplyPlaces places;
  ReplyQueue queue(output, places);
  auto& a = queue.Later();
  queue.Now() += "b";
  auto& c = queue.Later();
  auto& d = queue.Later();
  queue.Now() += "e";
  d.text += "d";
  queue.Finish(d);
  EXPECT_EQ(output, "");
  a.text += "a";
  queue.Finish(a);
  EXPECT_EQ(output, "ab");
  EXPECT_FALSE(queue.empty());
  c.text += "c";
  queue.Finish(c);
  EXPECT_EQ(output, "abcde");
  EXPECT_TRUE(queue.empty());
}

TEST(ReplyQueue, ReportsTheBytesThatWait) {
  std::string output;
  ReplyPlaces places;
  ReplyQueue queue(output, places);
  queue.Now() += "a";
  EXPECT_EQ(queue.held(), 0U);
  auto& b = queue.Later();
  queue.Now() += "cc";
  auto& d = queue.Later();
  queue.Now() += "eee";
  EXPECT_EQ(queue.held(), 5U);
  queue.Finish(b);
  EXPECT_EQ(queue.held(), 3U);
  queue.Finish(d);
  EXPECT_EQ(queue.held(), 0U);
  auto& f = queue.Later();
  queue.Now() += "g";
  EXPECT_EQ(queue.held(), 1U);
  queue.Finish(f);
}

TEST(ReplyQueue, RecyclesPlacesEmpty) {
  std::string output;
  ReplyPlaces places;
  ReplyQueue queue(output, places);
  const ReplyPlace* used = nullptr;
  for (int i = 0; i < 3; ++i) {
    ReplyPlace& place = queue.Later();
    EXPECT_TRUE(i == 0 || &place == used);
    EXPECT_EQ(place.text, "");
    place.text += "a";
    queue.Finish(place);
    used = &place;
  }
  EXPECT_EQ(output, "aaa");
}

TEST(ReplyQueue, ReturnsPlacesOfUnfinishedReplies) {
  std::string output;
  ReplyPlaces places;
  const ReplyPlace* kept = nullptr;
  {
    ReplyQueue queue(output, places);
    kept = &queue.Later();
    queue.Now() += "b";
  }
  EXPECT_EQ(output, "");
  ReplyQueue queue(output, places);
  const ReplyPlace* const one = &queue.Later();
  const ReplyPlace* const other = &queue.Later();
  EXPECT_TRUE(one == kept || other == kept);
}

}  // namespace
}  // namespace sluice::wire

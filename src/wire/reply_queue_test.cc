#include "wire/reply_queue.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::wire {
namespace {

TEST(ReplyQueue, LetsAReplyGoAtOnceIfNoneIsWaitedFor) {
  std::string output;
  ReplyQueue queue(output);
  queue.Now() += "a";
  EXPECT_EQ(output, "a");
  EXPECT_TRUE(queue.empty());
}

TEST(ReplyQueue, HoldsRepliesBackUntilTheOneBeforeIsFinished) {
  std::string output;
  ReplyQueue queue(output);
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
  ReplyQueue queue(output);
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

}  // namespace
}  // namespace sluice::wire

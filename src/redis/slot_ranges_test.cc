#include "redis/slot_ranges.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "resp/decoder.h"

namespace sluice::redis {
namespace {

std::optional<std::vector<SlotRange>> Read(std::string_view reply) {
  resp::Decoder decoder;
  decoder.Feed(reply);
  EXPECT_EQ(decoder.Next(), resp::Decoder::Status::kReply);
  return ReadSlotRanges(decoder.reply(), "asked");
}

constexpr std::string_view kId = "$2\r\nid\r\n";

std::string Range(int first, int last, const std::string& server) {
  return "*3\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(last) + "\r\n" + server;
}

std::string Server(const std::string& host) {
  return "*3\r\n" + host + ":7000\r\n" + std::string(kId);
}

TEST(SlotRangesTest, MapSlotsToServers) {
  // The replica that follows the primary does not matter.
  const std::string with_replica =
      "*4\r\n:0\r\n:99\r\n" + Server("$4\r\nhost\r\n") + Server("$7\r\nreplica\r\n");
  const auto ranges = Read("*2\r\n" + with_replica + Range(100, 16383, Server("$3\r\n::1\r\n")));
  ASSERT_TRUE(ranges);
  ASSERT_EQ(ranges->size(), 2U);
  EXPECT_EQ(ranges->front().first, 0);
  EXPECT_EQ(ranges->front().last, 99);
  EXPECT_EQ(ranges->front().owner, (ServerAddress{"host", 7000}));
  EXPECT_EQ(ranges->back().owner, (ServerAddress{"::1", 7000}));
}

TEST(SlotRangesTest, AServerWithoutAHostHasTheOneOfTheConnection) {
  for (const std::string host : {"$0\r\n\r\n", "$-1\r\n", "_\r\n"}) {
    const auto ranges = Read("*1\r\n" + Range(0, 1, Server(host)));
    ASSERT_TRUE(ranges) << host;
    EXPECT_EQ(ranges->front().owner.host, "asked");
  }
}

TEST(SlotRangesTest, AServerWithoutANameHasItsAddress) {
  const std::string server =
      "*4\r\n$1\r\n?\r\n:7000\r\n" + std::string(kId) + "*2\r\n$2\r\nip\r\n$8\r\n10.0.0.1\r\n";
  const auto ranges = Read("*1\r\n" + Range(0, 1, server));
  ASSERT_TRUE(ranges);
  EXPECT_EQ(ranges->front().owner.host, "10.0.0.1");
}

TEST(SlotRangesTest, OtherRepliesAreInvalid) {
  const std::string server = Server("$4\r\nhost\r\n");
  for (const std::string& reply :
       {std::string("*0\r\n"), std::string("+OK\r\n"), std::string("-ERR no\r\n"),
        std::string("*1\r\n:1\r\n"), "*1\r\n" + Range(0, 16384, server),
        "*1\r\n" + Range(5, 4, server), "*1\r\n" + Range(-1, 4, server),
        "*1\r\n" + Range(0, 1, "*1\r\n$1\r\nh\r\n"), "*1\r\n" + Range(0, 1, "$4\r\nhost\r\n")}) {
    EXPECT_FALSE(Read(reply)) << reply;
  }
}

}  // namespace
}  // namespace sluice::redis

#include "redis/error_reply.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "resp/decoder.h"

namespace sluice::redis {
namespace {

std::string CodeOfReply(std::string_view error) {
  resp::Decoder decoder;
  decoder.Feed("-" + std::string(error) + "\r\n");
  EXPECT_EQ(decoder.Next(), resp::Decoder::Status::kReply);
  return std::string(CodeOf(decoder.reply()));
}

TEST(ErrorReplyTest, TheCodeIsTheFirstWordOrTheOneWrappedByAncientServers) {
  EXPECT_EQ(CodeOfReply("LOADING Redis is loading the dataset in memory"), "LOADING");
  EXPECT_EQ(CodeOfReply("ERR Error running script (call to f_1): @user_script:1: -READONLY You "
                        "can't write against a read only replica."),
            "READONLY");
}

TEST(ErrorReplyTest, ARedirectionNamesASlotAndAServer) {
  const Redirection moved = ReadRedirection("MOVED 3999 127.0.0.1:6381");
  EXPECT_EQ(moved.slot, 3999);
  EXPECT_EQ(moved.address, (ServerAddress{"127.0.0.1", 6381}));
  EXPECT_EQ(ReadRedirection("ASK 1 redis-2.test:7000").address,
            (ServerAddress{"redis-2.test", 7000}));
  EXPECT_EQ(ReadRedirection("MOVED 1 2001:db8::1:7000").address,
            (ServerAddress{"2001:db8::1", 7000}));
}

TEST(ErrorReplyTest, AnEmptyHostIsTheSame) {
  EXPECT_EQ(ReadRedirection("MOVED 1 :7000").address, (ServerAddress{"", 7000}));
}

TEST(ErrorReplyTest, WhatNamesNoServerHasNoPort) {
  for (const std::string_view error :
       {"MOVED", "MOVED 1", "MOVED 1 host", "MOVED 1 ?:7000", "ASK 1 host:", "ASK 1 host:x", ""}) {
    EXPECT_EQ(ReadRedirection(error).address.port, 0) << error;
  }
}

TEST(ErrorReplyTest, AServerIsUnwellIfItCannotServeAnyClient) {
  for (const char* code : {"LOADING", "BUSY", "READONLY", "MASTERDOWN", "CLUSTERDOWN"}) {
    EXPECT_TRUE(IsUnwell(code)) << code;
  }
  for (const char* code : {"OOM", "NOSCRIPT", "MOVED", "ASK", "TRYAGAIN", "NOPERM", "ERR"}) {
    EXPECT_FALSE(IsUnwell(code)) << code;
  }
}

}  // namespace
}  // namespace sluice::redis

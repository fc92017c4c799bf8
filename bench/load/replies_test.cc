#include "load/replies.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

struct Case {
  ReadReply read;
  std::string bytes;
  Verdict verdict;
};

const Case kWhole[] = {
    {&ReadHttp, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Verdict::kAllowed},
    {&ReadHttp, "HTTP/1.1 200 OK\r\nServer: x\r\ncontent-length:0\r\nX: y\r\n\r\n",
     Verdict::kAllowed},
    {&ReadHttp, "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\n\r\n\r\n",
     Verdict::kDenied},
    {&ReadThrottle, "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n", Verdict::kAllowed},
    {&ReadThrottle, "*5\r\n:1\r\n:16\r\n:0\r\n:2\r\n:32\r\n", Verdict::kDenied},
    {&ReadCheck, "*8\r\n:1\r\n:9\r\n:8\r\n:0\r\n:60\r\n$3\r\n\r\n:\r\n:0\r\n:0\r\n",
     Verdict::kAllowed},
    {&ReadCheck, "*8\r\n:0\r\n:9\r\n:0\r\n:7\r\n:60\r\n$0\r\n\r\n:0\r\n:0\r\n", Verdict::kDenied},
    {&ReadCount, ":1234567\r\n", Verdict::kAllowed},
};

TEST(Replies, AreReadWhereverTheyAreSplitAndWhateverFollows) {
  for (const Case& c : kWhole) {
    for (std::size_t size = 0; size < c.bytes.size(); ++size) {
      EXPECT_EQ(c.read(std::string_view(c.bytes).substr(0, size)).size, 0U)
          << c.bytes << " cut at " << size;
    }
    for (const std::string& more : {std::string(), std::string("*"), c.bytes}) {
      const std::string bytes = c.bytes + more;
      const Reply reply = c.read(bytes);
      EXPECT_EQ(reply.size, c.bytes.size()) << bytes;
      EXPECT_EQ(reply.verdict, c.verdict) << bytes;
    }
  }
}

TEST(Replies, ThatAreErrorsOrOfAnotherShapeAreWrong) {
  const Case wrong[] = {
      {&ReadHttp, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", {}},
      {&ReadHttp, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", {}},
      {&ReadHttp, "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", {}},
      {&ReadHttp, "HTTP/1.1 200 OK\r\n\r\n", {}},
      {&ReadHttp, "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", {}},
      {&ReadHttp, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {}},
      {&ReadHttp, "HTTP/1.1 200 OK\nContent-Length: 0\n\n", {}},
      {&ReadThrottle, "-ERR storage unavailable\r\n", {}},
      {&ReadThrottle, "*4\r\n:0\r\n:16\r\n:15\r\n:-1\r\n", {}},
      {&ReadThrottle, "*5\r\n:2\r\n:16\r\n:15\r\n:-1\r\n:2\r\n", {}},
      {&ReadThrottle, "*5\r\n:0\r\n$2\r\n16\r\n:15\r\n:-1\r\n:2\r\n", {}},
      {&ReadThrottle, "*5\r\n-ERR\r\n:16\r\n:15\r\n:-1\r\n:2\r\n", {}},
      {&ReadCheck, "*8\r\n:1\r\n:9\r\n:8\r\n:0\r\n:60\r\n$-1\r\n:0\r\n:0\r\n", {}},
      {&ReadCount, "-WRONGTYPE Operation against a key\r\n", {}},
      {&ReadCount, ":\r\n", {}},
      {&ReadCount, ":0\r\n", {}},
      {&ReadCount, ":12a\r\n", {}},
      {&ReadCount, "+OK\r\n", {}},
  };
  for (const Case& c : wrong) {
    const Reply reply = c.read(c.bytes);
    EXPECT_GT(reply.size, 0U) << c.bytes;
    EXPECT_EQ(reply.verdict, Verdict::kWrong) << c.bytes;
  }
}

}  // namespace
}  // namespace sluice::bench

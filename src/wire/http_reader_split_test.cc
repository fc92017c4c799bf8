// What comes out of the reader does not depend on how the bytes came in.

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/seed.h"
#include "wire/testing/http_events.h"

namespace sluice::wire {
namespace {

using ::testing::SizeIs;

const std::vector<std::string>& Corpus() {
  static const std::vector<std::string> corpus = {
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /check?key=user:1 HTTP/1.1\r\nHost: a\r\nUser-Agent: curl/8\r\nAccept: */*\r\n\r\n",
      "\r\n\r\nHEAD / HTTP/1.0\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n",
      "GET http://h:1?q HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello\r\nthis",
      "POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc",
      "POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;x=y\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\nTrailer: t\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
      "1\r\na\r\n0\r\n\r\n",
      // Refused, each somewhere else.
      "GET / HTTP/1.1\nHost: a\r\n\r\n",
      "GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /\r\n\r\n",
      "GET / HTTP/1\r\n\r\n",
      "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nX: y\rz\r\n\r\n",
      "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX : y\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n",
  };
  return corpus;
}

constexpr HttpLimits kTight = {
    .max_request_line = 24, .max_header_bytes = 40, .max_headers = 2, .max_body = 8};

void ExpectSameInPieces(const std::string& bytes, const HttpLimits& limits) {
  const auto whole = ReadWhole(bytes, limits);
  const std::string_view view = bytes;
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    ASSERT_EQ(ReadPieces({view.substr(0, at), view.substr(at)}, limits), whole)
        << bytes << "\nsplit at " << at;
  }
  for (const std::size_t piece : {1U, 2U, 3U, 5U, 7U, 16U, 33U}) {
    ASSERT_EQ(ReadSplit(bytes, piece, limits), whole) << bytes << "\nin pieces of " << piece;
  }
}

TEST(HttpReaderSplit, EachRequestIsParsedEquallyWhereverItIsSplit) {
  for (const std::string& bytes : Corpus()) {
    ASSERT_THAT(ReadWhole(bytes), ::testing::Not(::testing::IsEmpty())) << bytes;
    ExpectSameInPieces(bytes, {});
    ExpectSameInPieces(bytes, kTight);
  }
}

TEST(HttpReaderSplit, PipelinedRequestsAreParsedEquallyWhereverTheyAreSplit) {
  for (const std::string& first : Corpus()) {
    for (const std::string& second : Corpus()) ExpectSameInPieces(first + second, {});
  }
}

TEST(HttpReaderSplit, ThreePartsAreParsedLikeOne) {
  for (const std::string& request : Corpus()) {
    const auto whole = ReadWhole(request);
    const std::string_view view = request;
    for (std::size_t first = 0; first <= view.size(); ++first) {
      for (std::size_t second = first; second <= view.size(); ++second) {
        ASSERT_EQ(ReadPieces({view.substr(0, first), view.substr(first, second - first),
                              view.substr(second)}),
                  whole)
            << request << "\nsplit at " << first << " and " << second;
      }
    }
  }
}

TEST(HttpReaderSplit, AsManyRequestsComeOutAsWentIn) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    bytes.append("GET /").append(std::to_string(i)).append(" HTTP/1.1\r\nHost: a\r\n\r\n");
    bytes += "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  }
  EXPECT_THAT(ReadWhole(bytes), SizeIs(200));
  for (const std::size_t piece : {1U, 10U, 100U, 1000U}) {
    EXPECT_EQ(ReadSplit(bytes, piece), ReadWhole(bytes));
  }
}

TEST(HttpReaderSplit, LongHeadsSurviveGrowingBuffers) {
  std::string bytes =
      "GET /" + std::string(5000, 'p') + "?" + std::string(2000, 'q') + " HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 90; ++i) {
    bytes.append("X-").append(std::to_string(i)).append(": ").append(100, 'v').append("\r\n");
  }
  bytes += "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 20; ++i) bytes.append("800\r\n").append(0x800, 'b').append("\r\n");
  bytes += "0\r\n\r\n";
  const auto whole = ReadWhole(bytes);
  ASSERT_THAT(whole, SizeIs(1));
  for (const std::size_t piece : {1U, 100U, 1000U, 4096U, 10000U}) {
    ASSERT_EQ(ReadSplit(bytes, piece), whole) << "in pieces of " << piece;
  }
}

TEST(HttpReaderSplit, GarbageIsRejectedEquallyHoweverItIsSplit) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = Corpus()[below(Corpus().size())] + Corpus()[below(Corpus().size())];
    for (std::size_t changes = below(4); changes > 0; --changes) {
      const std::size_t at = below(bytes.size());
      switch (below(3)) {
        case 0:
          bytes[at] = static_cast<char>(below(256));
          break;
        case 1:
          bytes.erase(at, 1 + below(3));
          break;
        default:
          bytes.insert(at, 1, "\r\n :;,0/?%\t"[below(11)]);
          break;
      }
      if (bytes.empty()) bytes.push_back('G');
    }
    const HttpLimits limits = round % 2 == 0 ? HttpLimits{} : kTight;
    const auto whole = ReadWhole(bytes, limits);
    ASSERT_EQ(ReadSplit(bytes, 1, limits), whole) << bytes;
    ASSERT_EQ(ReadSplit(bytes, 1 + below(40), limits), whole) << bytes;
  }
}

}  // namespace
}  // namespace sluice::wire

#include "identity/proxy_protocol.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::identity {
namespace {

using Status = ProxyProtocolReader::Status;
using namespace std::string_literals;

const std::string kSignature = "\r\n\r\n\0\r\nQUIT\n"s;

std::string Binary(int command, int family, const std::string& rest) {
  return kSignature + static_cast<char>(command) + static_cast<char>(family) +
         static_cast<char>(rest.size() >> 8) + static_cast<char>(rest.size() & 0xFF) + rest;
}

const std::string kIpv4Addresses = "\xCB\x00\x71\x09\x0A\x00\x00\x01\x12\x34\x00\x50"s;
const std::string kIpv6Addresses = "\x20\x01\x0D\xB8\0\0\0\0\0\0\0\0\0\0\0\x01"s +
                                   "\x20\x01\x0D\xB8\0\0\0\0\0\0\0\0\0\0\0\x02"s +
                                   "\x12\x34\x00\x50"s;

// "203.0.113.9 + rest", "none + rest", "error: …" or "more".
std::string ReadInPieces(const std::string& bytes, std::size_t piece) {
  ProxyProtocolReader reader;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    std::string_view part = std::string_view(bytes).substr(at, piece);
    const std::size_t size = part.size();
    const Status status = reader.Read(part);
    if (status == Status::kError) return "error: " + std::string(reader.error());
    if (status == Status::kMore) {
      EXPECT_TRUE(part.empty());
      continue;
    }
    std::array<char, kMaxAddressText> out;
    const std::string source =
        reader.source() ? std::string(FormatAddress(*reader.source(), out)) : "none";
    return source + " + " + bytes.substr(at + size - part.size());
  }
  return "more";
}

void ExpectRead(const std::string& bytes, const std::string& expected) {
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    ASSERT_EQ(ReadInPieces(bytes, piece), expected)
        << "in pieces of " << piece << ": " << ::testing::PrintToString(bytes);
  }
}

TEST(ProxyProtocol, TheLineHasTheOriginOfAConnection) {
  ExpectRead("PROXY TCP4 203.0.113.9 10.0.0.1 4660 80\r\nGET /", "203.0.113.9 + GET /");
  ExpectRead("PROXY TCP6 2001:DB8::1 2001:db8::2 0 65535\r\n\r\n", "2001:db8::1 + \r\n");
  ExpectRead("PROXY TCP6 ::ffff:203.0.113.9 ::1 1 2\r\n", "203.0.113.9 + ");
  ExpectRead("PROXY UNKNOWN\r\nPING", "none + PING");
  ExpectRead("PROXY UNKNOWN ffff:f...f:ffff what ever\r\nPING", "none + PING");
}

TEST(ProxyProtocol, TheLineHasAtMost107Bytes) {
  const std::string longest = "PROXY UNKNOWN " + std::string(107 - 16, 'x') + "\r\n";
  ASSERT_EQ(longest.size(), 107U);
  ExpectRead(longest + "!", "none + !");
  ExpectRead("PROXY UNKNOWN " + std::string(108 - 16, 'x') + "\r\n",
             "error: the line of the PROXY protocol is too long");
}

TEST(ProxyProtocol, AMalformedLineIsRejected) {
  for (const std::string line :
       {"PROXY TCP4 203.0.113.9 10.0.0.1 4660\r\n", "PROXY TCP4 203.0.113.9 10.0.0.1 4660 80 1\r\n",
        "PROXY TCP4  203.0.113.9 10.0.0.1 4660 80\r\n",
        "PROXY TCP4 203.0.113.9 10.0.0.1 4660 80 \r\n", "PROXY TCP4 ::1 10.0.0.1 4660 80\r\n",
        "PROXY TCP6 203.0.113.9 ::1 4660 80\r\n", "PROXY TCP4 203.0.113.09 10.0.0.1 4660 80\r\n",
        "PROXY TCP4 203.0.113.9 10.0.0 4660 80\r\n", "PROXY TCP4 203.0.113.9 10.0.0.1 65536 80\r\n",
        "PROXY TCP4 203.0.113.9 10.0.0.1 01 80\r\n", "PROXY TCP4 203.0.113.9 10.0.0.1 -1 80\r\n",
        "PROXY TCP5 1.2.3.4 10.0.0.1 1 80\r\n", "PROXY UNKNOWNX\r\n",
        "PROXY TCP4 203.0.113.9 10.0.0.1 4660 80\n", "PROXY \r\n",
        "proxy TCP4 203.0.113.9 10.0.0.1 4660 80\r\n", "PROXX TCP4 203.0.113.9 10.0.0.1 1 1\r\n",
        "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\n"}) {
    EXPECT_TRUE(ReadInPieces(line, line.size()).starts_with("error: ")) << line;
    EXPECT_EQ(ReadInPieces(line, 1), ReadInPieces(line, line.size())) << line;
  }
}

TEST(ProxyProtocol, TheBinaryHeaderHasTheOriginOfAConnection) {
  ExpectRead(Binary(0x21, 0x11, kIpv4Addresses) + "GET /", "203.0.113.9 + GET /");
  ExpectRead(Binary(0x21, 0x21, kIpv6Addresses) + "GET /", "2001:db8::1 + GET /");
  ExpectRead(Binary(0x21, 0x12, kIpv4Addresses), "203.0.113.9 + ");
}

TEST(ProxyProtocol, DataAfterTheAddressesIsSkipped) {
  const std::string tlvs = "\x01\x00\x02h2\x03\x00\x04\x01\x02\x03\x04"s;
  ExpectRead(Binary(0x21, 0x11, kIpv4Addresses + tlvs) + "!", "203.0.113.9 + !");
  const std::string most(65535 - kIpv4Addresses.size(), 'x');
  EXPECT_EQ(ReadInPieces(Binary(0x21, 0x11, kIpv4Addresses + most) + "!", 1000), "203.0.113.9 + !");
}

TEST(ProxyProtocol, AProxyMaySendItsOwnOrNoAddress) {
  ExpectRead(Binary(0x20, 0x00, "") + "!", "none + !");
  ExpectRead(Binary(0x20, 0x11, kIpv4Addresses) + "!", "none + !");
  ExpectRead(Binary(0x20, 0x11, "") + "!", "none + !");
  ExpectRead(Binary(0x21, 0x00, "abc") + "!", "none + !");
  ExpectRead(Binary(0x21, 0x31, std::string(216, 'p')) + "!", "none + !");
}

TEST(ProxyProtocol, AMalformedBinaryHeaderIsRejected) {
  for (const auto& [bytes, error] : std::vector<std::pair<std::string, std::string>>{
           {Binary(0x11, 0x11, kIpv4Addresses), "this version of the PROXY protocol is not known"},
           {Binary(0x22, 0x11, kIpv4Addresses), "the PROXY header has an unknown command"},
           {Binary(0x21, 0x41, kIpv4Addresses), "the PROXY header has an unknown family"},
           {Binary(0x21, 0x13, kIpv4Addresses), "the PROXY header has an unknown family"},
           {Binary(0x21, 0x11, kIpv4Addresses.substr(1)),
            "the PROXY header is too short for its addresses"},
           {Binary(0x21, 0x21, kIpv4Addresses), "the PROXY header is too short for its addresses"},
           {Binary(0x21, 0x31, "path"), "the PROXY header is too short for its addresses"},
           {"\r\n\r\n\0\r\nQUIT\r!"s, "the connection does not begin with the PROXY protocol"}}) {
    EXPECT_EQ(ReadInPieces(bytes, 1), "error: " + error);
  }
}

TEST(ProxyProtocol, ErrorsAreFinal) {
  ProxyProtocolReader reader;
  std::string_view bytes = "GET";
  EXPECT_EQ(reader.Read(bytes), Status::kError);
  bytes = "PROXY UNKNOWN\r\n";
  EXPECT_EQ(reader.Read(bytes), Status::kError);
}

}  // namespace
}  // namespace sluice::identity

#include "base/host_name.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::string NormalHost(std::string_view host) {
  std::string buffer;
  return std::string(NormalizeHost(host, buffer));
}

TEST(HostName, CasePortAndTrailingDotAreIgnored) {
  for (const char* host :
       {"api.example.com", "API.example.com", "api.Example.COM.", "api.example.com:443",
        "API.EXAMPLE.COM.:8443", "api.example.com:", "api.example.com..", "api.example.com:http"}) {
    EXPECT_EQ(NormalHost(host), "api.example.com") << host;
  }
}

TEST(HostName, AnAddressIsWrittenInOneWayWithoutBrackets) {
  for (const char* host : {"[2001:db8::1]", "[2001:DB8::1]:443",
                           "[2001:0db8:0:0::1]:", "2001:db8::1", "2001:DB8:0::1"}) {
    EXPECT_EQ(NormalHost(host), "2001:db8::1") << host;
  }
  EXPECT_EQ(NormalHost("[::ffff:192.0.2.1]:80"), "192.0.2.1");
  EXPECT_EQ(NormalHost("192.0.2.1:8080"), "192.0.2.1");
  EXPECT_EQ(NormalHost("192.0.2.1."), "192.0.2.1");
}

TEST(HostName, InvalidHostsAreNormalizedToo) {
  EXPECT_EQ(NormalHost(""), "");
  EXPECT_EQ(NormalHost(":80"), "");
  EXPECT_EQ(NormalHost("."), "");
  EXPECT_EQ(NormalHost("[::1"), "[::1");
  EXPECT_EQ(NormalHost("[V1.x]:80"), "v1.x");
  EXPECT_EQ(NormalHost("A:b:C"), "a");
  EXPECT_EQ(NormalHost("api.example.com:443:80"), "api.example.com");
  EXPECT_EQ(NormalHost(std::string(5000, 'A')), std::string(5000, 'a'));
}

TEST(HostName, NormalizingTwiceChangesNothing) {
  for (const char* host : {"API.example.com.:443", "[2001:DB8::1]:443", "A:b:C.", "a.:1", "x.."}) {
    EXPECT_EQ(NormalHost(NormalHost(host)), NormalHost(host)) << host;
  }
}

}  // namespace
}  // namespace sluice

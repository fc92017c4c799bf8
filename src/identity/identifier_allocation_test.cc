#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "identity/identifier.h"

namespace sluice::identity {
namespace {

// {"alg":"none"} and {"sub":"alice"}
constexpr std::string_view kToken = "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.";

TEST(IdentifierAllocation, ThereIsNoneOnceACallerHasGrown) {
  IdentityOptions options;
  options.sources = {{.kind = Source::Kind::kJwt},
                     {.kind = Source::Kind::kHeader, .name = "X-API-Key"},
                     {.kind = Source::Kind::kQuery, .name = "key"}};
  options.trusted_proxies = {"10.0.0.0/8"};
  options.address_header = AddressHeader::kForwarded;
  options.hash_keys = true;
  options.hash_secret = "0123456789abcdef";
  options.jwt.rules.unverified = true;
  const Identifier identifier = Identifier::Make(options).value();
  const std::vector<std::vector<HeaderLine>> requests = {
      {{"X-API-Key", "a key that is longer than what fits into a string in place"},
       {"Forwarded", "for=1.1.1.1, for=\"[2001:db8::1]\", for=10.0.0.2"}},
      {{"Authorization", kToken}, {"Forwarded", "for=unknown"}},
      {},
  };
  Caller caller;
  std::size_t attributes = 0;
  const auto identify = [&] {
    for (const auto& lines : requests) {
      const HeaderSpan<HeaderLine> headers(lines);
      EXPECT_EQ(identifier.Identify({.peer = Address{0, 0xFFFF'0A00'0001},
                                     .headers = headers,
                                     .query = "a=b&key=a%20key%20that%20is%20encoded&c=d"},
                                    WallTime{}, caller),
                Outcome::kKnown);
      attributes += caller.attributes().size();
    }
  };
  identify();
  const std::size_t before = Allocations();
  for (int round = 0; round < 100; ++round) identify();
  EXPECT_EQ(Allocations() - before, 0U);
  EXPECT_EQ(attributes, 101U * (4 + 3 + 3));
}

}  // namespace
}  // namespace sluice::identity

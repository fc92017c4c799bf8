#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "base/timestamp.h"
#include "match/rule_set.h"
#include "rules/reader.h"

namespace sluice::match {
namespace {

constexpr const char* kRules = R"(
default_tier: free
tiers:
  pro: { capacity: 50 }
  free: {}
keys: { "sk_pro_*": pro }
known_keys: ["sk_*"]
endpoints: ["/v1/orders/{id}", "/v1/{what}/items"]
allow: ["sk_internal_*", "10.9.0.0/16"]
deny: ["sk_revoked_*", "2001:db8::/32"]
rules:
  - { id: all, per: [], limit: 1000/s }
  - id: orders
    match: { endpoint_regex: "^/v[0-9]+/orders/[^/]+$", methods: [GET, POST] }
    per: [endpoint, ip, user]
    limits: [10/s, 1000/h]
  - { id: keys, match: { api_key: "sk_*_1" }, capacity: 10, refill_rate: 1,
      override: { "sk_pro_1": { capacity: 99 }, "sk_x*": { capacity: 7 } } }
  - { id: hosts, match: { host: ["*.example.com", "2001:db8::1"] }, per: host, limit: 10/s }
  - { id: timed, starts_at: 2026-12-01T08:00:00Z, limits: { a: 5/s, b: { limit: 9/s, expires_at: 2026-12-01T08:00:01Z } } }
  - { id: rolled, per: [ip, user], limit: 5/s, rollout: { percent: 50, by: ip, from: 4/s } }
  - { id: tokens, match: { ip: [1.0.0.0/8, "2001:db9::/32"] }, type: tokens, limit: 1000/s }
)";

TEST(MatchAllocation, ThereIsNoneOnceAMatchHasGrown) {
  rules::ReadResult result = rules::Read("test.yaml", kRules);
  for (const config_text::Diagnostic& error : result.errors) ADD_FAILURE() << Describe(error);
  ASSERT_TRUE(result.file);
  const auto rules = RuleSet::Compile(*std::move(result.file));
  const std::vector<std::vector<Attribute>> calls = {
      {{"api_key", "sk_pro_1"},
       {"endpoint", "/v1/orders/a%b?x"},
       {"method", "post"},
       {"ip", "::ffff:1.2.3.4"},
       {"user", "a user whose name is long, and is encoded: ÄÖÜ"}},
      {{"api_key", "sk_xyz_1"},
       {"endpoint", "/v2/orders/1"},
       {"method", "GET"},
       {"ip", "2001:db9:0:0::1"},
       {"user", "u"},
       {"tokens", "12"}},
      {{"api_key", "unknown"}, {"ip", "1.1.1.1"}, {"tokens", "none"}},
      {{"host", "A-LONG-NAME-OF-A-TENANT.API.Example.com.:8443"}},
      {{"host", "[2001:DB8:0::1]:443"}},
      {{"api_key", "sk_internal_1"}},
      {{"ip", "2001:db8::1"}},
      {},
  };
  const WallTime now = *ParseTimestamp("2026-12-01T08:00:00Z");
  Match match;
  std::size_t limits = 0;
  for (int round = 0; round < 3; ++round) {
    for (const auto& call : calls) rules->Find(call, 1, now, match);
  }
  const std::size_t before = Allocations();
  for (int round = 0; round < 100; ++round) {
    for (const auto& call : calls) {
      rules->Find(call, 1, now, match);
      limits += match.limits().size();
    }
  }
  EXPECT_EQ(Allocations() - before, 0U);
  EXPECT_GE(limits, 1000U);
}

}  // namespace
}  // namespace sluice::match

// A program of its own: it replaces operator new, to count.

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rules/reader.h"
#include "rules/rule_set.h"

namespace {

std::atomic<long> allocations{0};

void* Allocate(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace sluice::rules {
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
  - { id: tokens, match: { ip: [1.0.0.0/8, "2001:db9::/32"] }, type: tokens, limit: 1000/s }
)";

TEST(MatchAllocation, ThereIsNoneOnceAMatchHasGrown) {
  ReadResult result = Read("test.yaml", kRules);
  for (const Mistake& mistake : result.mistakes) ADD_FAILURE() << Describe(mistake);
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
      {{"api_key", "sk_internal_1"}},
      {{"ip", "2001:db8::1"}},
      {},
  };
  Match match;
  std::size_t limits = 0;
  for (int round = 0; round < 3; ++round) {
    for (const auto& call : calls) rules->Find(call, 1, match);
  }
  const long before = allocations;
  for (int round = 0; round < 100; ++round) {
    for (const auto& call : calls) {
      rules->Find(call, 1, match);
      limits += match.limits().size();
    }
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_GE(limits, 1000U);
  // That it counts at all:
  const std::string text(100, 'x');
  EXPECT_GT(allocations - before, 0) << text;
}

}  // namespace
}  // namespace sluice::rules

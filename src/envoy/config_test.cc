#include "envoy/config.h"

#include <gtest/gtest.h>

#include "envoy/testing/read.h"

namespace sluice::envoy {
namespace {

using testing::Met;
using testing::ReadOk;

TEST(Config, AnUnknownDomainHasNoLimits) {
  const auto config = ReadOk("domain: a\ndescriptors: [{key: k, rate_limit: {unlimited: true}}]");
  EXPECT_EQ(Met(*config, "b", {{"k", "v"}}), "no domain");
}

TEST(Config, AnExactValueWinsOverTheKeyAlone) {
  const auto config = ReadOk(R"(
domain: edge
descriptors:
  - key: remote_address
    rate_limit: { unit: second, requests_per_unit: 10 }
  - key: remote_address
    value: 192.0.2.5
    rate_limit: { unit: second, requests_per_unit: 0 }
)");
  EXPECT_EQ(Met(*config, "edge", {{"remote_address", "192.0.2.1"}}),
            "edge.remote_address 10/1s {192.0.2.1}:edge/remote_address:1s:");
  EXPECT_EQ(Met(*config, "edge", {{"remote_address", "192.0.2.5"}}),
            "edge.remote_address_192.0.2.5 0/1s "
            "{edge.remote_address_192.0.2.5}:edge/remote_address=192.0.2.5:1s:");
  EXPECT_TRUE(config->nodes()[1]->limit().reject_all);
  EXPECT_EQ(Met(*config, "edge", {{"other", "192.0.2.5"}}), "nothing");
}

TEST(Config, ARequestMustBeAsDeepAsItsRule) {
  const auto config = ReadOk(R"(
domain: messaging
descriptors:
  - key: message_type
    value: marketing
    descriptors:
      - key: to_number
        rate_limit: { unit: day, requests_per_unit: 5 }
  - key: to_number
    rate_limit: { unit: day, requests_per_unit: 100 }
)");
  EXPECT_EQ(Met(*config, "messaging", {{"message_type", "marketing"}, {"to_number", "206"}}),
            "messaging.message_type_marketing.to_number 5/86400s "
            "{206}:messaging/message_type=marketing/to_number:86400s:");
  EXPECT_EQ(Met(*config, "messaging", {{"to_number", "206"}}),
            "messaging.to_number 100/86400s {206}:messaging/to_number:86400s:");
  EXPECT_EQ(Met(*config, "messaging", {{"message_type", "marketing"}}), "nothing");
  EXPECT_EQ(Met(*config, "messaging", {{"message_type", "news"}, {"to_number", "206"}}), "nothing");
  EXPECT_EQ(Met(*config, "messaging", {{"to_number", "206"}, {"message_type", "marketing"}}),
            "nothing");
  EXPECT_EQ(Met(*config, "messaging", {}), "nothing");
}

TEST(Config, ChoicesAreNotBacktracked) {
  const auto config = ReadOk(R"(
domain: d
descriptors:
  - key: a
    value: x
    descriptors: [{ key: b, rate_limit: { unit: hour, requests_per_unit: 1 } }]
  - key: a
    descriptors: [{ key: c, rate_limit: { unit: hour, requests_per_unit: 2 } }]
)");
  EXPECT_EQ(Met(*config, "d", {{"a", "x"}, {"c", "1"}}), "nothing");
  EXPECT_EQ(Met(*config, "d", {{"a", "y"}, {"c", "1"}}), "d.a.c 2/3600s {y}:d/a/c:3600s:1");
}

TEST(Config, WildcardsAreTriedInTheirOrderAfterExactValues) {
  const auto config = ReadOk(R"(
domain: d
descriptors:
  - { key: p, value: "/api/*/items", rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: p, value: "/api/*", rate_limit: { unit: second, requests_per_unit: 2 } }
  - { key: p, value: "*.png", rate_limit: { unit: second, requests_per_unit: 3 } }
  - { key: p, value: "/a*b*c", rate_limit: { unit: second, requests_per_unit: 4 } }
  - { key: p, value: "/api/me", rate_limit: { unit: second, requests_per_unit: 5 } }
  - { key: p, rate_limit: { unit: second, requests_per_unit: 6 } }
  - { key: q, value: "*", rate_limit: { unit: second, requests_per_unit: 7 } }
  - { key: r, value: "a?c\\d*", rate_limit: { unit: second, requests_per_unit: 8 } }
)");
  const auto requests = [&](std::string_view key, std::string_view value) {
    FoundKey found;
    const Entry entry{key, value};
    const Node* node = config->FindDomain("d")->Find({&entry, 1}, found);
    if (node != nullptr) {
      EXPECT_EQ(found.key().tag, node->requests_per_unit == 5 ? node->rule.id : value);
    }
    return node == nullptr ? 0 : node->requests_per_unit;
  };
  EXPECT_EQ(requests("p", "/api/7/items"), 1U);
  EXPECT_EQ(requests("p", "/api//items"), 1U);
  EXPECT_EQ(requests("p", "/api/items"), 2U);
  EXPECT_EQ(requests("p", "/api/x.png"), 2U);
  EXPECT_EQ(requests("p", "/x.png"), 3U);
  EXPECT_EQ(requests("p", "/abc"), 4U);
  EXPECT_EQ(requests("p", "/a-b-b-c"), 4U);
  EXPECT_EQ(requests("p", "/a-c-b"), 6U);
  EXPECT_EQ(requests("p", "/api/me"), 5U);
  EXPECT_EQ(requests("p", ""), 6U);
  EXPECT_EQ(requests("q", ""), 7U);
  EXPECT_EQ(requests("q", "anything"), 7U);
  EXPECT_EQ(requests("r", "a?c\\de"), 8U);
  EXPECT_EQ(requests("r", "abc\\de"), 0U) << "only '*' stands for something else";
}

TEST(Config, AValueThatEqualsAWildcardMatchesIt) {
  const auto config = ReadOk(R"(
domain: d
descriptors:
  - { key: p, value: "f*", rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: p, value: "foo*", rate_limit: { unit: second, requests_per_unit: 2 } }
)");
  EXPECT_EQ(Met(*config, "d", {{"p", "foo*"}}), "d.p_foo* 2/1s {foo%2A}:d/p=foo%2A:1s:");
  EXPECT_EQ(Met(*config, "d", {{"p", "food"}}), "d.p_f* 1/1s {food}:d/p=f%2A:1s:");
}

TEST(Config, WithASharedThresholdAllValuesOfAWildcardHaveOneCounter) {
  const auto config = ReadOk(R"(
domain: d
descriptors:
  - { key: f, value: "files/*", share_threshold: true, rate_limit: { unit: hour, requests_per_unit: 10 } }
  - key: u
    value: "user/*"
    share_threshold: true
    descriptors:
      - key: f
        value: "res/*"
        descriptors: [{ key: action, rate_limit: { unit: minute, requests_per_unit: 150 } }]
)");
  EXPECT_EQ(Met(*config, "d", {{"f", "files/a"}}), Met(*config, "d", {{"f", "files/b"}}));
  EXPECT_EQ(Met(*config, "d", {{"f", "files/a"}}), Met(*config, "d", {{"f", "files/*"}}));
  EXPECT_EQ(Met(*config, "d", {{"u", "user/1"}, {"f", "res/2"}, {"action", "r:w"}}),
            "d.u_user/*.f_res/*.action 150/60s "
            "{res%2F2}:d/u=user%2F%2A/f=res%2F%2A/action:60s:r%3Aw");
}

TEST(Config, KeysAndValuesDoNotCollide) {
  const auto config = ReadOk(R"(
domain: d
descriptors:
  - { key: a_b, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: a, value: b_c, rate_limit: { unit: second, requests_per_unit: 2 } }
  - { key: a, value: "*", rate_limit: { unit: second, requests_per_unit: 3 } }
)");
  EXPECT_EQ(Met(*config, "d", {{"a_b", "c"}}), "d.a_b 1/1s {c}:d/a_b:1s:");
  EXPECT_EQ(Met(*config, "d", {{"a", "b_c"}}), "d.a_b_c 2/1s {d.a_b_c}:d/a=b_c:1s:");
  EXPECT_EQ(Met(*config, "d", {{"a", "b"}}), "d.a_* 3/1s {b}:d/a=%2A:1s:");
}

TEST(Config, DifferentDescriptorsNeverShareACounter) {
  const auto config = ReadOk(R"(
domain: d
descriptors:
  - key: a
    rate_limit: { unit: second, requests_per_unit: 1 }
    descriptors:
      - { key: b, rate_limit: { unit: second, requests_per_unit: 2 } }
  - { key: a/b, rate_limit: { unit: second, requests_per_unit: 3 } }
  - { key: a=b, rate_limit: { unit: second, requests_per_unit: 4 } }
)");
  EXPECT_EQ(Met(*config, "d", {{"a", "x"}, {"b", "y:z"}}), "d.a.b 2/1s {x}:d/a/b:1s:y%3Az");
  EXPECT_EQ(Met(*config, "d", {{"a/b", "x"}}), "d.a/b 3/1s {x}:d/a%2Fb:1s:");
  EXPECT_EQ(Met(*config, "d", {{"a=b", "x"}}), "d.a=b 4/1s {x}:d/a%3Db:1s:");
}

TEST(Config, LimitsOfRequestsAreCountedByAllTheirEntries) {
  const auto config = ReadOk("domain: d\ndescriptors: []");
  FoundKey key;
  std::string name;
  const Entry entries[] = {{"a", "1"}, {"b", "2:3"}};
  config->FindDomain("d")->KeyOf(entries, key, Unit::kMinute);
  AppendKeyName(key.key(), name);
  EXPECT_EQ(name, "{1}:d/:minute:a:b:2%3A3");
}

TEST(Unit, HasTheDurationsOfTheOriginal) {
  using std::chrono::hours;
  EXPECT_EQ(LengthOf(Unit::kSecond), Micros{std::chrono::seconds(1)});
  EXPECT_EQ(LengthOf(Unit::kWeek), Micros{hours(7 * 24)});
  EXPECT_EQ(LengthOf(Unit::kMonth), Micros{hours(30 * 24)});
  EXPECT_EQ(LengthOf(Unit::kYear), Micros{hours(365 * 24)});
  EXPECT_EQ(LengthOf(static_cast<Unit>(99)), Micros{0});
  EXPECT_EQ(UnitOf(Micros{hours(24)}), Unit::kDay);
  EXPECT_EQ(UnitOf(Micros{hours(25)}), Unit::kUnknown);
}

}  // namespace
}  // namespace sluice::envoy

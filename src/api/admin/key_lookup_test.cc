#include <string>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "api/testing/http_server.h"

namespace sluice::api {
namespace {

using simdjson::dom::element;
using testing::Heard;

constexpr std::string_view kLookupRules = R"(
deny: [blocked]
rules:
  - { id: api, algorithm: fixed_window, limit: 3, window: 60 }
  - { id: search, match: { endpoint: /search }, algorithm: token_bucket, limit: 10, window: 10 }
  - { id: addresses, per: ip, algorithm: fixed_window, limit: 100, window: 60 }
)";

class KeyLookupTest : public testing::HttpTest {
 protected:
  void SetUp() override { Load(kLookupRules); }

  element LookUp(std::string_view body) {
    const Heard heard = Post("/admin/v1/keys:lookup", body);
    EXPECT_EQ(heard.status, 200) << heard.body;
    element document;
    EXPECT_EQ(parser_.parse(heard.body).get(document), simdjson::SUCCESS) << heard.body;
    return document;
  }
  static std::int64_t Int(element object, const char* name) {
    return object[name].get_int64().value();
  }
  static std::string Text(element object, const char* name) {
    return std::string(object[name].get_string().value());
  }

  simdjson::dom::parser parser_;
};

TEST_F(KeyLookupTest, ShowsEveryLimitOfTheCallerAndTakesNothing) {
  Check("key=alice&endpoint=/search");
  Check("key=alice&endpoint=/search");
  for (int i = 0; i < 3; ++i) {
    const element found = LookUp(R"({"attributes":{"api_key":"alice","endpoint":"/search"}})");
    ASSERT_EQ(found["limits"].get_array().size(), 2U);
    const element api = found["limits"].at(0);
    EXPECT_EQ(Text(api, "rule"), "api");
    EXPECT_EQ(Text(api, "key"), "alice");
    EXPECT_EQ(Int(api, "limit"), 3);
    EXPECT_EQ(Int(api, "used"), 2);
    EXPECT_EQ(Int(api, "remaining"), 1);
    EXPECT_GT(Int(api, "reset_after_ms"), 0);
    EXPECT_EQ(Int(api, "leased"), 0);
    EXPECT_EQ(Text(found["limits"].at(1), "rule"), "search");
    EXPECT_TRUE(found["listed"].is_null());
  }
}

TEST_F(KeyLookupTest, ExplainsWhichRulesMatchAndWhyOthersDont) {
  const element found = LookUp(R"({"attributes":{"api_key":"alice"}})");
  EXPECT_TRUE(found["explanation_complete"].get_bool().value());
  ASSERT_EQ(found["explanation"].get_array().size(), 3U);
  EXPECT_EQ(Text(found["explanation"].at(0), "rule"), "api");
  EXPECT_EQ(Text(found["explanation"].at(0), "outcome"), "matched");
  EXPECT_EQ(Text(found["explanation"].at(1), "rule"), "search");
  EXPECT_EQ(Text(found["explanation"].at(1), "outcome"), "condition_fails");
  EXPECT_EQ(Text(found["explanation"].at(2), "outcome"), "lacks_attribute")
      << "the administrator's own address is not the caller's";
}

TEST_F(KeyLookupTest, ShowsGrantsDebtsAndLists) {
  EXPECT_EQ(Post("/admin/grant", R"({"attributes":{"api_key":"bob"},"amount":5})").status, 200);
  const element bob = LookUp(R"({"key":"bob"})")["limits"].at(0);
  EXPECT_EQ(Int(bob, "grant"), 5);
  EXPECT_EQ(Int(bob, "used"), 0);
  EXPECT_EQ(Int(bob, "remaining"), 8);
  EXPECT_EQ(Text(LookUp(R"({"key":"blocked"})"), "listed"), "deny");
}

TEST_F(KeyLookupTest, AGrantMayExpireAndBeForOneRule) {
  const std::string caller = R"("attributes":{"api_key":"bob","endpoint":"/search"})";
  // The clock is at 17:46:40.
  const Heard granted = Post("/admin/v1/grants", "{" + caller +
                                                     R"(,"amount":7,"rule":"search",)"
                                                     R"("expires_at":"2030-03-17T18:00:00Z"})");
  ASSERT_EQ(granted.status, 200) << granted.body;
  EXPECT_EQ(testing::TextOf(granted.body, "rule"), "search");
  EXPECT_EQ(testing::TextOf(granted.body, "expires_at"), "2030-03-17T18:00:00Z");
  element found = LookUp("{" + caller + "}");
  EXPECT_EQ(Int(found["limits"].at(0), "grant"), 0) << "of another rule";
  EXPECT_EQ(Int(found["limits"].at(1), "grant"), 7);
  EXPECT_EQ(Int(found["limits"].at(1), "expiring_grant"), 7);
  EXPECT_EQ(Text(found["limits"].at(1), "grant_expires_at"), "2030-03-17T18:00:00Z");
  services_.clock.Advance(std::chrono::minutes(14));
  found = LookUp("{" + caller + "}");
  EXPECT_EQ(Int(found["limits"].at(1), "grant"), 0);
}

TEST_F(KeyLookupTest, AGrantNeedsALimitAnAmountAndATimeToCome) {
  EXPECT_EQ(Post("/admin/v1/grants", R"({"key":"bob"})").status, 400);
  EXPECT_EQ(Post("/admin/v1/grants", R"({"key":"bob","amount":0})").status, 400);
  EXPECT_EQ(Post("/admin/v1/grants", R"({"key":"bob","amount":1,"rule":"none"})").status, 404);
  EXPECT_EQ(
      Post("/admin/v1/grants", R"({"key":"bob","amount":1,"expires_at":"2020-01-01T00:00:00Z"})")
          .status,
      400);
  EXPECT_EQ(Post("/admin/v1/grants", R"({"key":"bob","amount":1,"expires_at":"soon"})").status,
            400);
  EXPECT_EQ(Post("/admin/v1/grants", R"({"key":"bob","amount":1,"expires_at":null})").status, 200);
}

TEST_F(KeyLookupTest, RefusesBodiesThatNameNoCaller) {
  EXPECT_EQ(Post("/admin/v1/keys:lookup", "{}").status, 400);
  EXPECT_EQ(Post("/admin/v1/keys:lookup", R"({"attributes":{}})").status, 400);
  EXPECT_EQ(Post("/admin/v1/keys:lookup", R"({"attributes":{"a":"b"},"x":1})").status, 400);
  EXPECT_EQ(Post("/admin/v1/keys:lookup", "[").status, 400);
}

TEST_F(KeyLookupTest, FindsLongKeysWhichAreCountedByTheirHash) {
  const std::string key(256, '*');
  Check("key=" + key);
  const element limit = LookUp(R"({"key":")" + key + R"("})")["limits"].at(0);
  EXPECT_EQ(Text(limit, "key").substr(0, 7), "sha256:");
  EXPECT_EQ(Int(limit, "used"), 1);
}

}  // namespace
}  // namespace sluice::api

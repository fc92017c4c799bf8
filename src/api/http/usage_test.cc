#include <string>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "api/testing/http_server.h"

namespace sluice::api {
namespace {

using simdjson::dom::element;
using testing::Heard;

constexpr std::string_view kUsageRules = R"(
deny: [blocked]
rules:
  - { id: api, algorithm: fixed_window, limit: 3, window: 60 }
  - { id: secret, headers: false, algorithm: fixed_window, limit: 7, window: 60 }
  - { id: trial, shadow: true, algorithm: fixed_window, limit: 8, window: 60 }
  - { id: search, match: { endpoint: /search, method: POST }, algorithm: fixed_window, limit: 2,
      window: 60 }
)";

class UsageTest : public testing::HttpTest {
 protected:
  void SetUp() override { Load(kUsageRules); }

  element Usage(std::string_view query, std::string_view headers) {
    const Heard heard = Get("/v1/usage" + std::string(query), headers);
    EXPECT_EQ(heard.status, 200) << heard.body;
    EXPECT_EQ(heard.Header("Cache-Control"), "no-store");
    element document;
    EXPECT_EQ(parser_.parse(heard.body).get(document), simdjson::SUCCESS) << heard.body;
    return document["limits"].value();
  }

  simdjson::dom::parser parser_;
};

TEST_F(UsageTest, ACallerSeesWhatItHasLeftAndConsumesNothing) {
  Check("key=alice");
  for (int i = 0; i < 3; ++i) {
    const element limits = Usage("", "X-API-Key: alice\r\n");
    ASSERT_EQ(limits.get_array().size(), 1U) << "neither hidden nor shadow rules are shown";
    EXPECT_EQ(limits.at(0)["rule"].get_string().value(), "api");
    EXPECT_EQ(limits.at(0)["limit"].get_int64().value(), 3);
    EXPECT_EQ(limits.at(0)["remaining"].get_int64().value(), 2);
    EXPECT_GT(limits.at(0)["resetAfterSeconds"].get_int64().value(), 0);
  }
}

TEST_F(UsageTest, AnEndpointAddsItsLimits) {
  EXPECT_EQ(Usage("?endpoint=/search&method=POST", "X-API-Key: alice\r\n").get_array().size(), 2U);
  EXPECT_EQ(Usage("?endpoint=/search&method=GET", "X-API-Key: alice\r\n").get_array().size(), 1U);
  EXPECT_EQ(Usage("?endpoint=/x/../search&method=POST", "X-API-Key: alice\r\n").get_array().size(),
            2U);
}

TEST_F(UsageTest, AnotherCallersKeyInTheQueryIsNotAnIdentity) {
  Check("key=alice");
  EXPECT_EQ(Usage("?key=alice", "X-API-Key: bob\r\n").at(0)["remaining"].get_int64().value(), 3);
}

TEST_F(UsageTest, BrokenQueriesAndMethodsAreRefused) {
  EXPECT_EQ(Get("/v1/usage?endpoint=%zz").status, 400);
  EXPECT_EQ(Post("/v1/usage", "{}").status, 405);
}

}  // namespace
}  // namespace sluice::api

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "api/admin/key_services.h"
#include "api/testing/http_server.h"

namespace sluice::api {
namespace {

using simdjson::dom::element;
using testing::Heard;
using testing::NumberOf;
using testing::TextOf;

class FakeKeys final : public KeyServices {
 public:
  Result<KeyPage> ListKeys(const KeyQuery& query) override {
    last_query = query;
    if (fails) return Error{ErrorCode::kStoreUnavailable, "Redis is gone"};
    const Key key{.scope = "api:per%20second", .tag = "alice", .rest = "GET:%2Fa%3Ab"};
    KeyPage page{.cursor = "next", .complete = false};
    page.keys.push_back({.key = OwnedKey(key)});
    return page;
  }
  Result<ResetPreview> PreviewReset(const KeySelector& selector) override {
    last_query.selector = selector;
    ResetPreview preview{.count = 7, .scanned = 100};
    preview.sample.emplace_back(Key{.scope = ":throttle", .tag = "t"});
    return preview;
  }
  std::optional<ResetJob> StartReset(const KeySelector& selector, std::uint64_t /*max_keys*/,
                                     const control::Origin& origin) override {
    if (busy) return std::nullopt;
    return ResetJob{.id = "r1", .selector = selector, .origin = origin};
  }
  std::vector<ResetJob> ListResets() override { return {ResetJob{.id = "r1"}}; }
  std::optional<ResetJob> FindReset(std::string_view id) override {
    if (id != "r1") return std::nullopt;
    return ResetJob{.id = "r1", .state = ResetState::kFailed, .error = "gone"};
  }
  std::optional<ResetJob> CancelReset(std::string_view id) override { return FindReset(id); }
  StoreReport ReportStore() override {
    StoreReport report;
    report.redis.push_back({.name = "r:1",
                            .keys = 5,
                            .clock_ahead = std::chrono::microseconds(1500),
                            .replicas = {{.address = "r:2", .lag_bytes = 9}}});
    return report;
  }

  KeyQuery last_query;
  bool busy = false;
  bool fails = false;
};

class KeysTest : public testing::HttpTest {
 protected:
  void SetUp() override { services_.key_services = &keys_; }

  element Parsed(const Heard& heard) {
    element document;
    EXPECT_EQ(parser_.parse(heard.body).get(document), simdjson::SUCCESS) << heard.body;
    return document;
  }

  FakeKeys keys_;
  simdjson::dom::parser parser_;
};

TEST_F(KeysTest, ListsAPageOfKeysWithTheirValuesDecoded) {
  const element page = Parsed(Get("/admin/v1/keys?rule=api&prefix=al%2Aice&limit=5&cursor=c"));
  EXPECT_EQ(keys_.last_query.selector.rule, "api");
  EXPECT_EQ(keys_.last_query.selector.prefix, "al*ice");
  EXPECT_EQ(keys_.last_query.limit, 5U);
  EXPECT_EQ(keys_.last_query.cursor, "c");
  const element key = page["keys"].at(0);
  EXPECT_EQ(key["rule"].get_string().value(), "api");
  EXPECT_EQ(key["name"].get_string().value(), "per second");
  EXPECT_EQ(key["key"].get_string().value(), "alice");
  EXPECT_EQ(key["others"].at(1).get_string().value(), "/a:b");
  EXPECT_TRUE(key["first_seen"].is_null());
  EXPECT_EQ(page["cursor"].get_string().value(), "next");
  EXPECT_FALSE(page["complete"].get_bool().value());
}

TEST_F(KeysTest, RefusesOtherParametersAndReportsAStoreThatFails) {
  EXPECT_EQ(Get("/admin/v1/keys?limit=0").status, 400);
  EXPECT_EQ(Get("/admin/v1/keys?limit=1001").status, 400);
  EXPECT_EQ(Get("/admin/v1/keys?x=1").status, 400);
  EXPECT_EQ(Get("/admin/v1/keys?prefix=%z").status, 400);
  keys_.fails = true;
  const Heard heard = Get("/admin/v1/keys");
  EXPECT_EQ(heard.status, 503);
  EXPECT_EQ(TextOf(heard.body, "detail"), "Redis is gone");
  services_.key_services = nullptr;
  EXPECT_EQ(Get("/admin/v1/keys").status, 503);
}

TEST_F(KeysTest, SelectorsAreLiteralPrefixesOrGlobsOfTheFirstValue) {
  KeySelector prefix{.prefix = "a*["};
  EXPECT_TRUE(prefix.Matches({.scope = "r:l", .tag = "a*[b"}));
  EXPECT_FALSE(prefix.Matches({.scope = "r:l", .tag = "ab["}));
  KeySelector glob{.glob = rules::Glob::Compile("a*z")};
  EXPECT_TRUE(glob.Matches({.scope = "r:l", .tag = "abcz"}));
  EXPECT_FALSE(glob.Matches({.scope = "r:l", .tag = "abc"}));
  KeySelector rule{.rule = "a b"};
  EXPECT_TRUE(rule.Matches({.scope = "a%20b:l", .tag = "x"}));
  EXPECT_FALSE(rule.Matches({.scope = "a:l", .tag = "x"}));
  EXPECT_FALSE(rule.Matches({.scope = ":limit", .tag = "x"}));
}

TEST_F(KeysTest, ADryRunCountsAndShowsASample) {
  const element preview =
      Parsed(Post("/admin/v1/resets", R"({"rule":"api","match":"a*","dry_run":true})"));
  EXPECT_EQ(preview["count"].get_int64().value(), 7);
  EXPECT_TRUE(preview["sample"].at(0)["rule"].is_null());
  EXPECT_TRUE(keys_.last_query.selector.glob);
}

TEST_F(KeysTest, AResetIsAJobThatCanBeReadAndCanceled) {
  const Heard started = Post("/admin/v1/resets", R"({"prefix":"user:"})");
  EXPECT_EQ(started.status, 202);
  EXPECT_EQ(TextOf(started.body, "id"), "r1");
  EXPECT_EQ(TextOf(started.body, "state"), "running");
  EXPECT_EQ(TextOf(Get("/admin/v1/resets/r1").body, "error"), "gone");
  EXPECT_EQ(Get("/admin/v1/resets/r2").status, 404);
  EXPECT_EQ(Request("DELETE", "/admin/v1/resets/r1").status, 200);
  EXPECT_EQ(Request("DELETE", "/admin/v1/resets/r2").status, 404);
  EXPECT_EQ(Parsed(Get("/admin/v1/resets"))["resets"].get_array().size(), 1U);
  keys_.busy = true;
  const Heard busy = Post("/admin/v1/resets", R"({"prefix":"user:"})");
  EXPECT_EQ(busy.status, 409);
  EXPECT_EQ(TextOf(busy.body, "code"), "RESET_RUNNING");
}

TEST_F(KeysTest, AResetOfEverythingMustBeSaid) {
  EXPECT_EQ(TextOf(Post("/admin/v1/resets", "{}").body, "code"), "MISSING_FIELD");
  EXPECT_EQ(Post("/admin/v1/resets", R"({"prefix":""})").status, 400);
  EXPECT_EQ(Post("/admin/v1/resets", R"({"match":"a\\"})").status, 400);
  EXPECT_EQ(Post("/admin/v1/resets", R"({"all":true,"max_keys":0})").status, 400);
  EXPECT_EQ(Post("/admin/v1/resets", R"({"all":true})").status, 202);
}

TEST_F(KeysTest, TheStoreReportHasANodeForEachServer) {
  const element report = Parsed(Get("/admin/v1/store"));
  EXPECT_EQ(report["kind"].get_string().value(), "redis");
  const element node = report["redis"].at(0);
  EXPECT_EQ(node["keys"].get_int64().value(), 5);
  EXPECT_EQ(node["clock_offset_ms"].get_double().value(), 1.5);
  EXPECT_TRUE(node["evicted_keys"].is_null());
  EXPECT_EQ(node["replicas"].at(0)["lag_bytes"].get_int64().value(), 9);
}

}  // namespace
}  // namespace sluice::api

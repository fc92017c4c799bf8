#include <chrono>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/http_server.h"
#include "control/rule_service.h"
#include "control/testing/fake_control_store.h"

namespace sluice::api {
namespace {

using enum identity::Role;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Heard;
using ::testing::Not;
using testing::NumberOf;
using testing::TextOf;

constexpr std::string_view kEntryRules = R"(
rules:
  - { id: api, limit: 3/m }
  - { id: team-a/search, match: { endpoint: /search }, limit: 10/m }
)";
constexpr std::string_view kBlock = R"({"match":{"api_key":"sk_customer_1"},"effect":"block"})";

class EntriesTest : public testing::HttpTest {
 protected:
  void SetUp() override {
    Load(kEntryRules);
    services_.rule_service = &service_;
    services_.token = "a-bootstrap-token";
  }

  /// Sends a request with a token, and lets this node follow what it changed.
  Heard Ask(std::string_view method, std::string_view target, const std::string& token,
            std::string_view body = "", std::string_view headers = "") {
    const Heard heard =
        Request(method, target, body,
                "X-Sluice-Token: " + token + "\r\nContent-Type: application/json\r\n" +
                    std::string(headers));
    services_.entries.Apply(services_.records.List(control::RecordKind::kEntry, "", 100'000, {}),
                            true);
    return heard;
  }
  Heard Put(std::string_view id, std::string_view body, std::string_view headers = "") {
    return Ask("PUT", "/admin/v1/entries/" + std::string(id), operator_, body, headers);
  }

  control::testing::FakeControlStore control_{services_.clock};
  control::RuleService service_{control_, {.node = "n1"}};
  const std::string viewer_ = services_.AddToken({.role = kViewer});
  const std::string operator_ = services_.AddToken({.role = kOperator});
  const std::string editor_ = services_.AddToken({.role = kEditor});
  const std::string scoped_ = services_.AddToken({.role = kOperator, .scope = "team-a/"});
};

TEST_F(EntriesTest, AnEntryIsCreatedReplacedListedAndRemoved) {
  const Heard created = Put("one", kBlock);
  ASSERT_EQ(created.status, 200) << created.body;
  EXPECT_EQ(NumberOf(created.body, "created"), 1);
  EXPECT_EQ(NumberOf(Put("one", kBlock).body, "replaced"), 1);
  const Heard read = Ask("GET", "/admin/v1/entries/one", operator_);
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(TextOf(read.body, "api_key"), "sk_customer_1");
  EXPECT_EQ(TextOf(read.body, "effect"), "block");
  EXPECT_THAT(Ask("GET", "/admin/v1/entries?effect=block", operator_).body, HasSubstr("\"one\""));
  EXPECT_THAT(Ask("GET", "/admin/v1/entries?effect=allow", operator_).body,
              Not(HasSubstr("\"one\"")));
  EXPECT_EQ(NumberOf(Ask("DELETE", "/admin/v1/entries/one", operator_).body, "removed"), 1);
  EXPECT_EQ(Ask("GET", "/admin/v1/entries/one", operator_).status, 404);
  EXPECT_EQ(Ask("DELETE", "/admin/v1/entries/one", operator_).status, 404);
  EXPECT_EQ(services_.records.Audits().size(), 3U);
}

TEST_F(EntriesTest, ADryRunChangesNothing) {
  const Heard dry = Ask("PUT", "/admin/v1/entries/one?dry_run=1", operator_, kBlock);
  EXPECT_EQ(dry.status, 200) << dry.body;
  EXPECT_EQ(NumberOf(dry.body, "created"), 1);
  EXPECT_EQ(dry.Header("ETag"), "");
  EXPECT_EQ(Ask("GET", "/admin/v1/entries/one", operator_).status, 404);
  EXPECT_TRUE(services_.records.Audits().empty());
}

TEST_F(EntriesTest, AChangeWithAnEntityTagNeedsTheEntryThatItNames) {
  const Heard created = Put("one", kBlock, "If-None-Match: *\r\n");
  ASSERT_EQ(created.status, 200) << created.body;
  const std::string tag = created.Header("ETag");
  EXPECT_EQ(Ask("GET", "/admin/v1/entries/one", viewer_).Header("ETag"), tag);
  const Heard again = Put("one", kBlock, "If-None-Match: *\r\n");
  EXPECT_EQ(again.status, 412);
  EXPECT_EQ(TextOf(again.body, "code"), "PRECONDITION_FAILED");

  services_.clock.Advance(std::chrono::seconds(1));
  const Heard replaced = Put("one", kBlock, "If-Match: " + tag + "\r\n");
  EXPECT_EQ(replaced.status, 200) << replaced.body;
  EXPECT_NE(replaced.Header("ETag"), tag);
  EXPECT_EQ(Put("one", kBlock, "If-Match: " + tag + "\r\n").status, 412);
  EXPECT_EQ(
      Ask("DELETE", "/admin/v1/entries/one", operator_, "", "If-Match: " + tag + "\r\n").status,
      412);
  EXPECT_EQ(Put("one", kBlock, "If-Match: *\r\n").status, 200);
  EXPECT_EQ(Put("two", kBlock, "If-Match: *\r\n").status, 412);
  EXPECT_EQ(Put("one", kBlock, "If-Match: " + std::string(2000, 'x') + "\r\n").status, 400);
  EXPECT_EQ(Ask("DELETE", "/admin/v1/entries/one", operator_, "", "If-Match: *\r\n").status, 200);
}

TEST_F(EntriesTest, ABatchNamesEachEntryOnce) {
  ASSERT_EQ(Put("one", kBlock).status, 200);
  for (const std::string& body :
       {std::string(R"({"remove":["one","one"]})"),
        R"({"remove":["one"],"entries":[{"id":"one",)" + std::string(kBlock.substr(1)) + "]}"}) {
    const Heard heard = Ask("POST", "/admin/v1/entries:batch", operator_, body);
    EXPECT_EQ(heard.status, 400);
    EXPECT_EQ(TextOf(heard.body, "code"), "DUPLICATE_FIELD") << heard.body;
  }
  EXPECT_EQ(Ask("GET", "/admin/v1/entries/one", viewer_).status, 200);
}

TEST_F(EntriesTest, ViewersSeeKeysShortenedAndChangeNothing) {
  ASSERT_EQ(Put("one", kBlock).status, 200);
  for (const char* target : {"/admin/v1/entries/one", "/admin/v1/entries"}) {
    EXPECT_THAT(Ask("GET", target, viewer_).body, Not(HasSubstr("sk_customer_1"))) << target;
    EXPECT_THAT(Ask("GET", target, operator_).body, HasSubstr("sk_customer_1")) << target;
  }
  // A part of a key would let them guess the rest.
  EXPECT_THAT(Ask("GET", "/admin/v1/entries?match=sk_cust", viewer_).body,
              HasSubstr("\"entries\":[]"));
  EXPECT_EQ(Ask("PUT", "/admin/v1/entries/two", viewer_, kBlock).status, 403);
  EXPECT_EQ(Ask("DELETE", "/admin/v1/entries/one", viewer_).status, 403);
  EXPECT_EQ(Ask("POST", "/admin/v1/entries:batch", viewer_, R"({"remove":["one"]})").status, 403);
  EXPECT_EQ(Ask("GET", "/admin/v1/entries/one", viewer_).status, 200);
}

TEST_F(EntriesTest, AnEntryThatFitsEveryCallIsForEditors) {
  constexpr std::string_view kAll = R"({"match":{},"effect":"allow"})";
  EXPECT_EQ(Put("all", kAll).status, 403);
  EXPECT_EQ(Put("all", R"({"match":{"api_key":{"glob":"**"}},"effect":"allow"})").status, 403);
  ASSERT_EQ(Ask("PUT", "/admin/v1/entries/all", editor_, kAll).status, 200);
  // Nor may others take it away.
  EXPECT_EQ(Put("all", kBlock).status, 403);
  EXPECT_EQ(Ask("DELETE", "/admin/v1/entries/all", operator_).status, 403);
  EXPECT_EQ(Ask("POST", "/admin/v1/entries:batch", operator_, R"({"remove":["all"]})").status, 403);
  EXPECT_EQ(Ask("GET", "/admin/v1/entries/all", viewer_).status, 200);
  EXPECT_EQ(Ask("DELETE", "/admin/v1/entries/all", editor_).status, 200);
}

TEST_F(EntriesTest, ATokenWithAScopeTouchesNoOtherRules) {
  const auto entry_for = [](std::string_view rule) {
    return R"({"match":{"api_key":"k"},"effect":{"multiply":2},"rule":")" + std::string(rule) +
           R"("})";
  };
  EXPECT_EQ(Ask("PUT", "/admin/v1/entries/a", scoped_, entry_for("team-a/search")).status, 200);
  EXPECT_EQ(Ask("PUT", "/admin/v1/entries/b", scoped_, entry_for("api")).status, 403);
  EXPECT_EQ(Ask("PUT", "/admin/v1/entries/b", scoped_, kBlock).status, 403);  // Of all rules.
  ASSERT_EQ(Put("b", entry_for("api")).status, 200);
  // Replacing an entry is removing it.
  const Heard replaced = Ask("PUT", "/admin/v1/entries/b", scoped_, entry_for("team-a/search"));
  EXPECT_EQ(replaced.status, 403) << replaced.body;
  EXPECT_EQ(TextOf(replaced.body, "field"), "id");
  EXPECT_EQ(Ask("DELETE", "/admin/v1/entries/b", scoped_).status, 403);
  EXPECT_EQ(Ask("DELETE", "/admin/v1/entries/a", scoped_).status, 200);
}

TEST_F(EntriesTest, ABatchIsAllOrNothing) {
  const Heard wrong = Ask("POST", "/admin/v1/entries:batch", operator_,
                          R"({"entries":[{"id":"a","match":{"api_key":"k"},"effect":"block"},
                              {"id":"b","match":{"api_key":"k"},"effect":"nothing"}]})");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_THAT(TextOf(wrong.body, "field"), HasSubstr("entries[1]"));
  EXPECT_EQ(Ask("GET", "/admin/v1/entries/a", operator_).status, 404);
  const Heard right = Ask("POST", "/admin/v1/entries:batch", operator_,
                          R"({"entries":[{"id":"a","match":{"api_key":"k"},"effect":"block"},
                              {"id":"b","match":{"api_key":"l"},"effect":"block"}]})");
  EXPECT_EQ(right.status, 200) << right.body;
  EXPECT_EQ(NumberOf(right.body, "created"), 2);
  EXPECT_EQ(services_.records.Audits().size(), 1U);
}

TEST_F(EntriesTest, WrongBodiesAndQueriesNameTheField) {
  for (const std::string_view body :
       {"",
        "null",
        "[]",
        "7",
        "\"text\"",
        "{",
        "{}",
        R"({"match":[],"effect":"block"})",
        R"({"match":{"api_key":7},"effect":"block"})",
        R"({"match":{"api_key":""},"effect":"block"})",
        R"({"match":{"api_key":{"glob":7}},"effect":"block"})",
        R"({"match":{"ip":"10.0.0.0/99"},"effect":"block"})",
        R"({"match":{"api_key":"k"},"effect":{"limit":-1}})",
        R"({"match":{"api_key":"k"},"effect":{"multiply":"2x"}})",
        R"({"match":{"api_key":"k"},"effect":{"multiply":1e400}})",
        R"({"match":{"api_key":"k"},"effect":"block","status":200})",
        R"({"match":{"api_key":"k"},"effect":"block","expires_at":"tomorrow"})",
        R"({"match":{"api_key":"k"},"effect":"block","expires_at":7})",
        R"({"match":{"api_key":"k"},"effect":"block","reason":7})",
        R"({"match":{"api_key":"k"},"effect":"block","rule":"unknown"})",
        R"({"match":{"api_key":"k"},"effect":"block","effect":"allow"})",
        R"({"match":{"api_key":"k"},"effect":"block","unknown":1})"}) {
    const Heard heard = Put("one", body);
    EXPECT_EQ(heard.status, 400) << body << ": " << heard.body;
    EXPECT_NE(TextOf(heard.body, "code"), "") << body;
  }
  for (const char* id : {"%00", "%FF", "a%2Fb", "a%20b", "%E2%80%A8"}) {
    EXPECT_EQ(Put(id, kBlock).status, 400) << id;
  }
  EXPECT_EQ(Put(std::string(129, 'x'), kBlock).status, 400);
  for (const char* query :
       {"limit=0", "limit=1001", "limit=x", "effect=all", "cursor=%00", "x=1", "match=%zz"}) {
    EXPECT_EQ(Ask("GET", "/admin/v1/entries?" + std::string(query), viewer_).status, 400) << query;
  }
  for (const char* query : {"dry_run=2", "wait=1h", "wait=-1s", "x=1"}) {
    EXPECT_EQ(Ask("PUT", "/admin/v1/entries/one?" + std::string(query), operator_, kBlock).status,
              400)
        << query;
  }
  EXPECT_TRUE(services_.records.Audits().empty());
}

TEST_F(EntriesTest, WithHashedKeysOnlyTheHashIsStored) {
  services_.Identify({.hash_keys = true, .hash_secret = "0123456789abcdef"});
  ASSERT_EQ(Put("one", kBlock).status, 200);
  const auto record = services_.records.Find(control::RecordKind::kEntry, "one");
  ASSERT_TRUE(record);
  EXPECT_THAT(record->text, AllOf(HasSubstr("api_key_hash"), Not(HasSubstr("sk_customer_1"))));
  EXPECT_THAT(services_.records.Audits().back().target, Not(HasSubstr("sk_customer_1")));
  for (const std::string& token : {viewer_, operator_, editor_}) {
    EXPECT_THAT(Ask("GET", "/admin/v1/entries", token).body, Not(HasSubstr("sk_customer_1")));
  }
  // The list is searched by the key itself.
  EXPECT_THAT(Ask("GET", "/admin/v1/entries?match=api_key=sk_customer_1", operator_).body,
              HasSubstr("\"one\""));
  EXPECT_EQ(Put("two", R"({"match":{"api_key":{"glob":"sk_*"}},"effect":"block"})").status, 400);
}

TEST_F(EntriesTest, AStoreThatFailsIsAProblemOfItsOwn) {
  services_.records.SetFailure(Error{ErrorCode::kStoreUnavailable, "redis: timeout"});
  const Heard heard = Put("one", kBlock);
  EXPECT_EQ(heard.status, 503);
  EXPECT_EQ(TextOf(heard.body, "code"), "CONTROL_STORE_UNAVAILABLE");
}

}  // namespace
}  // namespace sluice::api

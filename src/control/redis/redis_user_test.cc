// The user that docs/redis.md describes may do all that the control store does, and no command of
// the list is superfluous.

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/redis/redis_control_store.h"
#include "control/testing/conformance.h"
#include "redis/testing/await.h"
#include "redis/testing/documented_user.h"
#include "redis/testing/redis_server.h"

namespace sluice::control {
namespace {

using redis::testing::DocumentedUser;
using redis::testing::Join;
using redis::testing::RedisServer;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RedisUserTest : public ::testing::Test {
 protected:
  RedisUserTest() {
    options_.redis = server_.ClientOptions();
    options_.redis.username = "sluice";
    options_.redis.password = redis::Secret("pw");
    options_.on_notifications_refused = [this](std::string_view error) {
      const std::lock_guard lock(mutex_);
      refused_ = error;
    };
  }

  void Allow(const std::string& permissions) {
    EXPECT_EQ(Describe(server_.Do("ACL SETUSER sluice reset" + permissions).value()), "\"OK\"");
    server_.Do("FLUSHALL");
  }

  /// Does all that a store does, and returns the errors.
  std::vector<std::string> ListErrors() {
    RedisControlStore store(options_);
    std::vector<std::string> errors;
    const auto note = [&](const auto& result) {
      if (!result) errors.push_back(result.error().message);
    };
    std::optional<VersionRef> current;
    for (std::size_t i = 0; i <= kVersionsKept; ++i) {
      const Version version = testing::NextVersion(current, std::to_string(i));
      const auto result = store.Commit(version, current, {.action = "rules.commit"});
      note(result);
      if (!result) break;
      current = version.info.ref;
    }
    note(store.ReadCurrent());
    note(store.ReadVersion({.epoch = 1, .number = 100}));
    note(store.ReadVersion({.epoch = 0, .number = 100}));
    note(store.ListVersions());
    note(store.AppendAudit({.action = "other"}));
    note(store.ReadAudit(0, 10));
    note(store.WriteNode({.id = "gone"}));
    server_.Do("ZADD sluice:v1:control:{default}:seen 1 gone");
    note(store.WriteNode({.id = "a"}));
    note(store.ListNodes());
    note(store.RemoveNode("a"));
    note(store.Now());
    note(store.ReadHead());
    note(store.WriteRecords(
        std::vector<RecordWrite>{{.kind = RecordKind::kEntry, .id = "a", .text = "1"}},
        {.action = "entry.put"}));
    std::vector<RecordWrite> many;
    for (int i = 0; i < 1000; ++i) {
      many.push_back({.kind = RecordKind::kEntry, .id = std::to_string(i), .text = "1"});
    }
    note(store.WriteRecords(many, {.action = "entry.batch"}));
    note(store.ReadRecords({}, 10));
    if (const auto head = store.ReadHead()) {
      note(store.RestoreRecords(
          std::vector<Record>{{.kind = RecordKind::kEntry, .id = "a", .text = "1"}}, head->records,
          {.epoch = head->records.epoch + 1, .sequence = 10}, {.action = "records.restore"}));
    }
    note(store.WriteNodeReport("top", {.node = "a", .text = "1"}, std::chrono::hours(1)));
    note(store.ReadNodeReports("top"));
    return errors;
  }

  std::string Refused() {
    const std::lock_guard lock(mutex_);
    return refused_;
  }

  const std::vector<std::string> user_ = DocumentedUser("pw");
  const std::vector<std::string> control_ = DocumentedUser("pw", 1);
  RedisServer server_;
  RedisControlOptions options_{.timeout = std::chrono::seconds(10)};
  std::mutex mutex_;
  std::string refused_;
};

TEST_F(RedisUserTest, TheDocumentedPermissionsAreEnough) {
  ASSERT_THAT(control_, Contains("+hset")) << "docs/redis.md has no second ACL SETUSER sluice";
  Allow(Join(user_) + Join(control_));
  EXPECT_THAT(ListErrors(), IsEmpty());
}

TEST_F(RedisUserTest, WithoutAnyOneOfTheCommandsSomethingIsRefusedClearly) {
  for (const std::string& word : control_) {
    Allow(Join(user_) + Join(control_, word));
    const std::vector<std::string> errors = ListErrors();
    EXPECT_THAT(errors, Not(IsEmpty())) << "without " << word;
    EXPECT_THAT(errors, Each(AnyOf(HasSubstr("permission"), HasSubstr("can't run this command"))))
        << "without " << word;
  }
}

TEST_F(RedisUserTest, ACommitWithoutAPermissionChangesNothing) {
  for (const char* word : {"+hset", "+rpush", "+lpop", "+llen", "+hdel", "+ltrim"}) {
    Allow(Join(user_) + Join(control_, word));
    RedisControlStore store(options_);
    const auto result = store.Commit(testing::NextVersion({}, "one"), std::nullopt, {});
    ASSERT_FALSE(result) << word;
    EXPECT_EQ(result.error().code, ErrorCode::kStoreError) << word;
    EXPECT_THAT(result.error().message, HasSubstr("no permission to run")) << word;
    EXPECT_EQ(server_.Do("DBSIZE").value().integer(), 0) << word;
  }
}

TEST_F(RedisUserTest, AWriteOfRecordsWithoutAPermissionChangesNothing) {
  for (const char* word : {"+hset", "+hdel", "+hmget", "+rpush", "+ltrim", "+zrange"}) {
    Allow(Join(user_) + Join(control_, word));
    RedisControlStore store(options_);
    const auto result = store.WriteRecords(
        std::vector<RecordWrite>{{.kind = RecordKind::kEntry, .id = "a", .text = "1"}}, {});
    ASSERT_FALSE(result) << word;
    EXPECT_EQ(result.error().code, ErrorCode::kStoreError) << word;
    EXPECT_THAT(result.error().message,
                AnyOf(HasSubstr("permission"), HasSubstr("can't run this command")))
        << word;
    EXPECT_EQ(server_.Do("DBSIZE").value().integer(), 0) << word;
  }
}

TEST_F(RedisUserTest, WithoutPubSubCommitsWorkAndTheRefusalIsReported) {
  Allow(Join(user_) + Join(control_));
  RedisControlStore store(options_);
  store.OnNotification([] {});
  redis::testing::Await("the refusal", [&] { return !Refused().empty(); });
  EXPECT_THAT(Refused(), HasSubstr("NOPERM"));
  testing::CommitText(store, "one");
  EXPECT_EQ(testing::FindHistoryProblem(store), "");
}

TEST_F(RedisUserTest, TheDocumentedChannelIsEnoughForNotifications) {
  Allow(Join(user_) + Join(control_) + " +publish +subscribe +ping &sluice:v1:control:*");
  RedisControlStore store(options_);
  std::atomic<int> notifications = 0;
  store.OnNotification([&] { ++notifications; });
  redis::testing::Await("the subscription", [&] { return notifications > 0; });
  RedisControlStore other(options_);
  testing::CommitText(other, "one");
  redis::testing::Await("the notification", [&] { return notifications > 1; });
  store.OnNotification({});
}

}  // namespace
}  // namespace sluice::control

#include "server/token_records.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using control::Record;
using control::RecordKind;
using identity::AccessToken;
using identity::Role;

constexpr WallTime kNow{std::chrono::seconds(1'900'000'000)};

struct Made {
  std::string text;
  Record record;
};

Made Make(Role role) {
  AccessToken token{.name = "ci", .role = role};
  Made made;
  made.text = GenerateSecret(token);
  made.record = {.kind = RecordKind::kToken, .id = token.id, .text = ToRecordText(token)};
  return made;
}

class TokenRecordsTest : public ::testing::Test {
 protected:
  bool IsRight(const Made& made) {
    return authenticator_.Check(made.text, std::nullopt, identity::Lockout::kNo, kNow).verdict ==
           identity::TokenVerdict::kRight;
  }

  identity::AccessSources access_;
  identity::Authenticator authenticator_{access_};
  TokenRecords records_{access_};
};

TEST_F(TokenRecordsTest, TokensFollowTheRecords) {
  Made one = Make(Role::kViewer);
  const Made two = Make(Role::kEditor);
  records_.Apply({.complete = true, .records = {one.record}}, kNow);
  EXPECT_TRUE(IsRight(one));
  EXPECT_FALSE(IsRight(two));
  records_.Apply({.records = {two.record}}, kNow);
  EXPECT_TRUE(IsRight(one));
  EXPECT_TRUE(IsRight(two));
  Record removed = one.record;
  removed.text.clear();
  removed.removed = true;
  records_.Apply({.records = {removed}}, kNow);
  EXPECT_FALSE(IsRight(one));
  EXPECT_TRUE(IsRight(two));
  records_.Apply({.complete = true, .records = {one.record}}, kNow);
  EXPECT_TRUE(IsRight(one));
  EXPECT_FALSE(IsRight(two)) << "whatever was known before is void";
}

TEST_F(TokenRecordsTest, ADamagedRecordIsNoTokenAndEndsTheOneBefore) {
  const Made one = Make(Role::kViewer);
  records_.Apply({.complete = true, .records = {one.record}}, kNow);
  Record damaged = one.record;
  damaged.text = R"({"role":"admin"})";
  records_.Apply({.records = {damaged}}, kNow);
  EXPECT_FALSE(IsRight(one));
}

}  // namespace
}  // namespace sluice::server

#include "identity/token_set.h"

#include <chrono>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace sluice::identity {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'900'000'000)};

struct Made {
  AccessToken token;
  std::string text;
};

Made Make(Role role, WallTime expires_at = kMaxTime, std::string scope = {}) {
  Made made{.token = {.name = "ci",
                      .role = role,
                      .scope = std::move(scope),
                      .author = "alice",
                      .created = kNow,
                      .expires_at = expires_at},
            .text = {}};
  made.text = GenerateSecret(made.token);
  return made;
}

TEST(AccessToken, HasAPrefixAnIdAndASecretOf256Bits) {
  const Made made = Make(Role::kViewer);
  EXPECT_EQ(made.text.substr(0, 7), "sluice_");
  EXPECT_EQ(TokenIdOf(made.text), made.token.id);
  EXPECT_EQ(made.text.size(), 7 + made.token.id.size() + 1 + 43);
  std::set<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.insert(Make(Role::kViewer).text);
  EXPECT_EQ(texts.size(), 100U);
}

TEST(AccessToken, ItsRecordHasNoSecret) {
  const Made made = Make(Role::kEditor, kNow + std::chrono::hours(1), "team-a/");
  const std::string record = ToRecordText(made.token);
  EXPECT_EQ(record.find(made.text.substr(made.text.size() - 43)), std::string::npos) << record;
  const auto read = ParseRecordText(made.token.id, record);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, made.token);
}

TEST(AccessToken, ARecordThatIsDamagedIsNoToken) {
  const std::string record = ToRecordText(Make(Role::kViewer, kNow).token);
  ASSERT_TRUE(ParseRecordText("id", record));
  for (const auto& [text, damage] : {std::pair("\"viewer\"", "\"root\""),
                                     {"\"sha256:", "\"md5:"},
                                     {"\"expires_at\":\"", "\"expires_at\":\"x"},
                                     {"\"viewer\"", "\"none\""},
                                     {"{", "["}}) {
    std::string damaged = record;
    damaged.replace(damaged.find(text), std::string_view(text).size(), damage);
    EXPECT_FALSE(ParseRecordText("id", damaged)) << damaged;
  }
}

TEST(AccessToken, AnAdminHasNoScope) {
  EXPECT_FALSE(FindTokenProblem({.name = "a", .role = Role::kAdmin}));
  EXPECT_FALSE(FindTokenProblem({.name = "a", .role = Role::kEditor, .scope = "team-a/"}));
  EXPECT_TRUE(FindTokenProblem({.name = "a", .role = Role::kAdmin, .scope = "team-a/"}));
  EXPECT_TRUE(FindTokenProblem({.name = "a"}));
  EXPECT_TRUE(FindTokenProblem({.name = "", .role = Role::kViewer}));
  EXPECT_TRUE(FindTokenProblem({.name = "a\nb", .role = Role::kViewer}));
  EXPECT_TRUE(FindTokenProblem({.name = std::string(101, 'a'), .role = Role::kViewer}));
}

class TokenSetTest : public ::testing::Test {
 protected:
  Made viewer_ = Make(Role::kViewer);
  Made editor_ = Make(Role::kEditor, kNow + std::chrono::hours(1), "team-a/");
  TokenUses uses_;
  TokenSet set_{{viewer_.token, editor_.token}, uses_};
};

TEST_F(TokenSetTest, FindsThePrincipalOfAToken) {
  const PrincipalPointer found = set_.Find(editor_.text, kNow);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (Principal{.name = "ci",
                               .role = Role::kEditor,
                               .scope = "team-a/",
                               .authentication = Authentication::kToken,
                               .token_id = editor_.token.id,
                               .expires_at = kNow + std::chrono::hours(1)}));
  EXPECT_TRUE(found->Covers("team-a/search"));
  EXPECT_FALSE(found->Covers("team-b/search"));
  EXPECT_FALSE(found->Covers(""));
}

TEST_F(TokenSetTest, TheSecretOfAnotherTokenIsWrong) {
  const std::string secret = viewer_.text.substr(viewer_.text.size() - 43);
  for (const std::string& text :
       {"sluice_" + editor_.token.id + "_" + secret, "sluice_" + editor_.token.id + "_",
        "sluice_" + editor_.token.id, std::string("sluice__") + secret, std::string("sluice_"),
        std::string(), editor_.text + "x", editor_.text.substr(0, editor_.text.size() - 1),
        "sluice_0000000000000000_" + secret, editor_.token.hash, std::string(100'000, 'a')}) {
    EXPECT_FALSE(set_.Find(text, kNow)) << text;
  }
  EXPECT_FALSE(TokenSet().Find(editor_.text, kNow));
}

TEST_F(TokenSetTest, ATokenEndsAtItsExpiry) {
  const WallTime expiry = kNow + std::chrono::hours(1);
  EXPECT_TRUE(set_.Find(editor_.text, expiry - Micros{1}));
  EXPECT_FALSE(set_.Find(editor_.text, expiry));
  EXPECT_TRUE(set_.FindById(editor_.token.id, expiry - Micros{1}));
  EXPECT_FALSE(set_.FindById(editor_.token.id, expiry));
  EXPECT_TRUE(set_.Find(viewer_.text, kMaxTime - Micros{1}));
}

TEST_F(TokenSetTest, TheLastUseIsKnownToTheMinuteAndOutlivesTheSet) {
  EXPECT_FALSE(set_.LastUse(viewer_.token.id));
  EXPECT_TRUE(set_.Find(viewer_.text, kNow));
  EXPECT_TRUE(set_.Find(viewer_.text, kNow + std::chrono::seconds(59)));
  EXPECT_EQ(set_.LastUse(viewer_.token.id), kNow);
  EXPECT_TRUE(set_.Find(viewer_.text, kNow + std::chrono::seconds(60)));
  EXPECT_FALSE(set_.Find(editor_.text + "x", kNow)) << "a wrong one is no use";
  const TokenSet next({viewer_.token, editor_.token}, uses_);
  EXPECT_EQ(next.LastUse(viewer_.token.id), kNow + std::chrono::seconds(60));
  EXPECT_FALSE(next.LastUse(editor_.token.id));
}

}  // namespace
}  // namespace sluice::identity

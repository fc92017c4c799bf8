#include "api/admin/key_text.h"

#include <gtest/gtest.h>

namespace sluice::api {
namespace {

using identity::Principal;
using identity::Role;

constexpr std::string_view kKey = "live-4eC39HqLyjWDarjtT1";

TEST(KeyText, ViewersSeeTheBeginningOfAKeyAndOperatorsAllOfIt) {
  for (const Role role : {Role::kNone, Role::kChecker, Role::kViewer}) {
    EXPECT_EQ(KeyForPrincipal({.role = role}, kKey), "live-4eC…") << LabelOf(role);
  }
  for (const Role role : {Role::kOperator, Role::kEditor, Role::kAdmin}) {
    EXPECT_EQ(KeyForPrincipal({.role = role}, kKey), kKey) << LabelOf(role);
  }
}

TEST(KeyText, AtMostHalfOfAShortKeyIsShown) {
  EXPECT_EQ(ShortKey("secret"), "sec…");
  EXPECT_EQ(ShortKey("x"), "…");
  EXPECT_EQ(ShortKey(""), "…");
}

TEST(KeyText, RecordsHaveTheDigestAndADigestStaysAsItIs) {
  const auto identifier = identity::Identifier::Make({}).value();
  const std::string digest = KeyForRecord(identifier, kKey);
  EXPECT_TRUE(digest.starts_with("sha256:")) << digest;
  EXPECT_EQ(KeyForRecord(identifier, digest), digest);
  EXPECT_EQ(KeyForPrincipal({.role = Role::kViewer}, digest), digest);
  EXPECT_FALSE(identity::KeyDigest::IsDigest("sha256:secret"));
}

}  // namespace
}  // namespace sluice::api

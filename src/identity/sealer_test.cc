#include "identity/sealer.h"

#include <set>

#include <gtest/gtest.h>

namespace sluice::identity {
namespace {

TEST(Sealer, OpensWhatItSealed) {
  const Sealer sealer("a secret", "sessions");
  for (const std::string& text : {std::string(), std::string("x"), std::string(5000, '\0')}) {
    const auto opened = sealer.Open(sealer.Seal(text));
    ASSERT_TRUE(opened);
    EXPECT_EQ(*opened, text);
  }
}

TEST(Sealer, TheTextIsNotVisibleAndEverySealDiffers) {
  const Sealer sealer("a secret", "sessions");
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string sealed = sealer.Seal("the token of the operator");
    EXPECT_EQ(sealed.find("operator"), std::string::npos);
    EXPECT_TRUE(seen.insert(sealed).second);
  }
}

TEST(Sealer, AChangeOfAnyCharacterIsDetected) {
  const Sealer sealer("a secret", "sessions");
  const std::string sealed = sealer.Seal("text");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(sealer.Open(changed)) << i;
    EXPECT_FALSE(sealer.Open(sealed.substr(0, i))) << i;
  }
  EXPECT_FALSE(sealer.Open(""));
  EXPECT_FALSE(sealer.Open("not base64url!"));
}

TEST(Sealer, AnotherSecretOrPurposeOpensNothing) {
  const std::string sealed = Sealer("a secret", "sessions").Seal("text");
  EXPECT_FALSE(Sealer("another", "sessions").Open(sealed));
  EXPECT_FALSE(Sealer("a secret", "denials").Open(sealed));
  EXPECT_TRUE(Sealer("a secret", "sessions").Open(sealed));
}

TEST(Sealer, WithoutASecretTheKeyIsOfOneObject) {
  const Sealer sealer("", "sessions");
  const std::string sealed = sealer.Seal("text");
  EXPECT_TRUE(sealer.Open(sealed));
  EXPECT_FALSE(Sealer("", "sessions").Open(sealed));
}

}  // namespace
}  // namespace sluice::identity

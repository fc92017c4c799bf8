#include "base/url_path.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::string Normal(std::string_view path) {
  std::vector<char> room(path.size());
  return std::string(NormalizePath(path, room));
}

TEST(NormalizePathTest, WaysToWriteOnePathAreOne) {
  for (const std::string_view path :
       {"/login", "/%6Cogin", "/%6cogin", "//login", "/login/", "/login//", "/./login", "/login/.",
        "/a/../login", "/a/b/../../login", "/../login", "/login/x/..", "/%2e/login",
        "/a/%2E%2e/login", "/..//login", "/login/./"}) {
    EXPECT_EQ(Normal(path), "/login") << path;
  }
  for (const std::string_view path : {"/", "//", "/.", "/..", "/a/..", "/a/../", "", "/./."}) {
    EXPECT_EQ(Normal(path), "/") << path;
  }
}

TEST(NormalizePathTest, PathsThatDifferStayDifferent) {
  EXPECT_EQ(Normal("/a%2fb"), "/a%2Fb");
  EXPECT_EQ(Normal("/a%252Fb"), "/a%252Fb");
  EXPECT_EQ(Normal("/a%0a"), "/a%0A");
  EXPECT_EQ(Normal("/a%00b"), "/a%00b");
  EXPECT_EQ(Normal("/.../a"), "/.../a");
}

TEST(NormalizePathTest, NoEscapesStayAsTheyAre) {
  EXPECT_EQ(Normal("/100%"), "/100%");
  EXPECT_EQ(Normal("/%zz/%2"), "/%zz/%2");
  EXPECT_EQ(Normal("/%C3%A4"), "/\xC3\xA4");
}

TEST(NormalizePathTest, TheNormalFormIsItsOwn) {
  constexpr unsigned kSeed = 20;
  std::mt19937 random(kSeed);
  constexpr std::string_view kPieces[] = {"/", ".", "..", "a", "%2e", "%2F", "%41", "%25", "//"};
  for (int i = 0; i < 20'000; ++i) {
    std::string path = "/";
    for (auto j = random() % 12; j > 0; --j) path += kPieces[random() % std::size(kPieces)];
    const std::string once = Normal(path);
    EXPECT_EQ(Normal(once), once) << path;
    EXPECT_TRUE(once.starts_with('/')) << path;
    EXPECT_EQ(once.find("//"), std::string::npos) << path;
  }
}

}  // namespace
}  // namespace sluice

#include "base/url_path.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::string Normal(std::string_view path, PathFolding folding = {}) {
  std::vector<char> room(path.size());
  return std::string(NormalizePath(path, room, folding));
}

TEST(NormalizePathTest, EquivalentPathsAreNormalizedEqually) {
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

TEST(NormalizePathTest, AnEscapeNeverEndsAPath) {
  EXPECT_EQ(Normal("/public%3f/../admin"), "/admin");
  EXPECT_EQ(Normal("/admin%3F"), "/admin%3F");
  EXPECT_EQ(Normal("/%3fx/admin"), "/%3Fx/admin");
  EXPECT_EQ(Normal("/%23/admin"), "/%23/admin");
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const std::string path = {'/',
                              'a',
                              '%',
                              kDigits[static_cast<std::size_t>(byte / 16)],
                              kDigits[static_cast<std::size_t>(byte % 16)],
                              'b'};
    EXPECT_EQ(Normal(path).find_first_of("?#"), std::string::npos) << path;
  }
}

TEST(NormalizePathTest, ParametersAreRemovedBeforeDots) {
  constexpr PathFolding kParameters{.parameters = true};
  for (const std::string_view path : {"/admin;x", "/admin;a=b;c/", "/;x/admin", "/public/..;/admin",
                                      "/public/..;x=/./admin", "/admin/.;x", "/%61dmin;%2F"}) {
    EXPECT_EQ(Normal(path, kParameters), "/admin") << path;
  }
  EXPECT_EQ(Normal("/a%3bx", kParameters), "/a%3Bx");
  EXPECT_EQ(Normal("/a;x/b"), "/a;x/b");
  EXPECT_EQ(Normal("/a%3bx"), "/a;x");
}

TEST(NormalizePathTest, CaseIsFoldedInEscapesToo) {
  constexpr PathFolding kCase{.letter_case = true};
  for (const std::string_view path : {"/Admin%2Fx", "/aDMIN%2fX", "/%41dmin%2Fx"}) {
    EXPECT_EQ(Normal(path, kCase), "/admin%2fx") << path;
  }
}

TEST(NormalizePathTest, TrailingDotsOfASegmentAreRemoved) {
  constexpr PathFolding kDots{.trailing_dots = true};
  for (const std::string_view path : {"/a/admin.", "/a/admin...", "/a./admin%2e", "/a/admin%20",
                                      "/a/b/../admin. .", "/a/admin./"}) {
    EXPECT_EQ(Normal(path, kDots), "/a/admin") << path;
  }
  EXPECT_EQ(Normal("/a/.../b", kDots), "/a/.../b");
  EXPECT_EQ(Normal("/a/admin."), "/a/admin.");
}

TEST(NormalizePathTest, InvalidEscapesAreUnchanged) {
  EXPECT_EQ(Normal("/100%"), "/100%");
  EXPECT_EQ(Normal("/%zz/%2"), "/%zz/%2");
  EXPECT_EQ(Normal("/%C3%A4"), "/\xC3\xA4");
}

TEST(NormalizePathTest, NormalizationIsIdempotent) {
  constexpr unsigned kSeed = 20;
  std::mt19937 random(kSeed);
  constexpr std::string_view kPieces[] = {"/",   ".",  "..",  "a",   "%2e", "%2F", "%41",
                                          "%25", "//", "%3f", "%23", ";",   "%3b", " "};
  for (int i = 0; i < 40'000; ++i) {
    const PathFolding folding{.letter_case = i % 2 == 0 && i > 20'000,
                              .parameters = i % 3 == 0 && i > 20'000,
                              .trailing_dots = i % 5 == 0 && i > 20'000};
    std::string path = "/";
    for (auto j = random() % 12; j > 0; --j) path += kPieces[random() % std::size(kPieces)];
    const std::string once = Normal(path, folding);
    EXPECT_EQ(Normal(once, folding), once) << path;
    EXPECT_EQ(once.find_first_of("?#"), std::string::npos) << path;
    EXPECT_TRUE(once.starts_with('/')) << path;
    EXPECT_EQ(once.find("//"), std::string::npos) << path;
  }
}

}  // namespace
}  // namespace sluice

#include "answer/problem.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ProblemTest, EachCodeStandsAtItsPlaceAndHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kProblems.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kProblems[i].code), i);
    EXPECT_TRUE(names.insert(kProblems[i].name).second) << kProblems[i].name;
    EXPECT_GE(kProblems[i].status, 400);
  }
}

TEST(ProblemTest, EachCodeIsInTheDocumentWithItsStatus) {
  std::ifstream file(SLUICE_HTTP_DOCUMENT);
  std::stringstream text;
  text << file.rdbuf();
  for (const ProblemKind& kind : kProblems) {
    EXPECT_THAT(text.str(), ::testing::HasSubstr("| `" + std::string(kind.name) + "` | " +
                                                 std::to_string(kind.status) + " |"));
  }
}

TEST(ProblemTest, BodiesAreThoseOfRfc9457) {
  std::string out;
  AppendProblem({.code = ProblemCode::kInvalidKey, .field = "key"}, out);
  EXPECT_EQ(out,
            R"({"type":"about:blank","title":"Bad Request","status":400,"detail":"a key has 1 )"
            R"(to 256 bytes, none of them a control character","code":"INVALID_KEY",)"
            R"("field":"key"})");
}

}  // namespace
}  // namespace sluice

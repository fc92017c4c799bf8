#include "config_text/suggestion.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace sluice::config_text {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"capacity", "refill_rate", "refill_interval",
                                                    "per", "window"};

TEST(SuggestionTest, ATypoIsCorrected) {
  EXPECT_EQ(ClosestName("refil_rate", kNames), "refill_rate");
  EXPECT_EQ(ClosestName("refillrate", kNames), "refill_rate");
  EXPECT_EQ(ClosestName("windwo", kNames), "window");
  EXPECT_EQ(ClosestName("capcaity", kNames), "capacity");
  EXPECT_EQ(ClosestName("pre", kNames), "per");
}

TEST(SuggestionTest, CaseAndDashesAreNotTypos) {
  EXPECT_EQ(ClosestName("Refill-Rate", kNames), "refill_rate");
}

TEST(SuggestionTest, AnotherWordIsNotATypo) {
  EXPECT_EQ(ClosestName("colour", kNames), std::nullopt);
  EXPECT_EQ(ClosestName("ip", kNames), std::nullopt);
  EXPECT_EQ(ClosestName("", kNames), std::nullopt);
  EXPECT_EQ(ClosestName(std::string(10'000, 'x'), kNames), std::nullopt);
}

TEST(SuggestionTest, TheSuggestionIsAQuestion) {
  EXPECT_EQ(DidYouMean("windw", kNames), "; did you mean `window`?");
  EXPECT_EQ(DidYouMean("colour", kNames), "");
}

TEST(SuggestionTest, LongTextsAreCutBetweenCharacters) {
  EXPECT_EQ(Shown("sk_1"), "`sk_1`");
  const std::string shown = Shown(std::string("x").append(100, 'y').append("é"));
  EXPECT_EQ(shown, std::string("`x").append(79, 'y').append("…`"));
  EXPECT_EQ(Shown(std::string(79, 'x').append("éé")),
            std::string("`").append(79, 'x').append("…`"));
}

}  // namespace
}  // namespace sluice::config_text

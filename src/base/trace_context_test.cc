#include "base/trace_context.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::string_view kValid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(TraceContextTest, ATraceparentHasIdsAndTheSampledFlag) {
  const TraceContext expected{.trace_high = 0x0af7651916cd43dd,
                              .trace_low = 0x8448eb211c80319c,
                              .parent = 0xb7ad6b7169203331,
                              .is_sampled = true};
  EXPECT_EQ(ParseTraceparent(kValid), expected);
  std::string unsampled(kValid);
  unsampled.back() = '2';  // Other flags mean nothing.
  EXPECT_FALSE(ParseTraceparent(unsampled)->is_sampled);
}

TEST(TraceContextTest, LaterVersionsMayHaveFurtherFields) {
  const std::string later = "cc" + std::string(kValid.substr(2));
  EXPECT_TRUE(ParseTraceparent(later));
  EXPECT_TRUE(ParseTraceparent(later + "-what-the-future-will-be-like"));
  EXPECT_FALSE(ParseTraceparent(later + ".what"));
  EXPECT_FALSE(ParseTraceparent(std::string(kValid) + "-more"));
}

TEST(TraceContextTest, AnyOtherTextIsIgnored) {
  for (std::size_t length = 0; length < kValid.size(); ++length) {
    EXPECT_FALSE(ParseTraceparent(kValid.substr(0, length))) << length;
  }
  for (std::size_t at = 0; at < kValid.size(); ++at) {
    for (const char wrong : {'A', 'g', ' ', '\0', '\xff'}) {
      std::string text(kValid);
      text[at] = wrong;
      EXPECT_FALSE(ParseTraceparent(text)) << text;
    }
  }
  for (const char* const text : {"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                 "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                                 "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"}) {
    EXPECT_FALSE(ParseTraceparent(text)) << text;
  }
}

}  // namespace
}  // namespace sluice

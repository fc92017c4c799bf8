#include "api/http/json_text.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/json_writer.h"

namespace sluice::api {
namespace {

std::string Plain(std::string_view text) {
  std::string out;
  JsonWriter(out).String(text);
  return out;
}

// Each byte at each place of texts shorter and longer than a word.
TEST(JsonText, QuotesAsAJsonWriterDoes) {
  for (std::size_t size = 0; size <= 19; ++size) {
    for (std::size_t place = 0; place < std::max<std::size_t>(size, 1); ++place) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, '~');
        if (size > 0) text[place] = static_cast<char>(byte);
        std::string out = "[";
        {
          JsonText(out, JsonText::RoomFor(text) + 1).Quoted(text).Raw("]");
        }
        ASSERT_EQ(out, "[" + Plain(text) + "]") << "byte " << byte << " at " << place;
      }
    }
  }
}

TEST(JsonText, WritesTextsThatExceedItsBuffer) {
  const std::string text(5000, 'x');
  std::string out;
  {
    JsonText(out, JsonText::RoomFor(text)).Quoted(text);
  }
  EXPECT_EQ(out, Plain(text));
}

}  // namespace
}  // namespace sluice::api

#include "ui/assets.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/gzip.h"

namespace sluice::ui {
namespace {

using ::testing::HasSubstr;

std::string ContentOf(const Asset& asset) {
  std::string content;
  wire::Gzip gzip;
  EXPECT_EQ(gzip.Decompress(asset.gzip, asset.size, content), wire::Gzip::Status::kDone)
      << asset.name;
  return content;
}

TEST(Assets, EveryFileCanBeDecompressed) {
  ASSERT_FALSE(Assets().empty());
  for (const Asset& asset : Assets()) EXPECT_EQ(ContentOf(asset).size(), asset.size) << asset.name;
}

TEST(Assets, ThePageNamesTheBundle) {
  const Asset* const page = FindAsset(kIndexName);
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->content_type, "text/html; charset=utf-8");
  EXPECT_THAT(ContentOf(*page), HasSubstr("assets/" + std::string(AssetBundle()) + "/app.js"));
}

TEST(Assets, AllTogetherAreSmall) {
  std::size_t bytes = 0;
  for (const Asset& asset : Assets()) bytes += asset.gzip.size();
  EXPECT_LT(bytes, 300U << 10);
}

TEST(Assets, NoFileNamesAnotherOrigin) {
  for (const Asset& asset : Assets()) {
    const std::string content = ContentOf(asset);
    for (std::size_t at = content.find("://"); at != std::string::npos;
         at = content.find("://", at + 1)) {
      // The namespace of SVG is a name, and nothing is loaded from it.
      EXPECT_THAT(content.substr(at, 20), ::testing::StartsWith("://www.w3.org/"))
          << asset.name << ": " << content.substr(at > 40 ? at - 40 : 0, 80);
    }
  }
}

TEST(Assets, NoFileWritesMarkupIntoThePage) {
  for (const Asset& asset : Assets()) {
    const std::string content = ContentOf(asset);
    for (const char* const name : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                                   "eval(", "new Function", "srcdoc"}) {
      EXPECT_EQ(content.find(name), std::string::npos) << asset.name << ": " << name;
    }
  }
}

}  // namespace
}  // namespace sluice::ui

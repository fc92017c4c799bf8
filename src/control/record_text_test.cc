#include "control/record_text.h"

#include <gtest/gtest.h>

namespace sluice::control {
namespace {

TEST(RecordText, ARecordOfALaterFormatIsAnErrorThatSaysSo) {
  const auto info = ParseVersionInfo(R"({"format":2,"version":"1.1","hash":"a"})");
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().code, ErrorCode::kStoreError);
  EXPECT_EQ(info.error().message, "record of format 2, which is newer than this build (reads 1)");
}

TEST(RecordText, OtherTextIsAForeignValue) {
  for (const char* text :
       {"", "x", "[]", "1", "{}", R"({"format":"1"})", R"({"format":-1})", R"({"format":1})",
        R"({"format":1,"version":"0.0","hash":"a"})", R"({"format":1,"version":"1.1"})",
        R"({"format":1,"version":"1.1","hash":"a")"}) {
    const auto info = ParseVersionInfo(text);
    ASSERT_FALSE(info) << text;
    EXPECT_EQ(info.error().code, ErrorCode::kForeignValue) << text;
    EXPECT_FALSE(ParseAuditRecord(text)) << text;
  }
}

TEST(RecordText, UnknownMembersAreIgnoredAndMissingOnesHaveDefaults) {
  const auto info = ParseVersionInfo(
      R"({"format":1,"version":"2.3","hash":"a","later":{"x":[1]},"message":5,"source":"git"})");
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->ref.id, (VersionId{.epoch = 2, .number = 3}));
  EXPECT_EQ(info->message, "");
  EXPECT_EQ(info->source, VersionSource::kApi);
}

TEST(RecordText, AVersionFileWithAnotherTextIsRefused) {
  const Version version = MakeVersion({.epoch = 1, .number = 1}, "rules: []\n");
  const std::string file = ToFile(version);
  EXPECT_EQ(ParseVersionFile(file)->text, version.text);
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(ParseVersionFile(file.substr(0, size))) << size;
  }
  EXPECT_FALSE(ParseVersionFile(file + "x"));
  std::string changed = file;
  changed.back() = ' ';
  EXPECT_FALSE(ParseVersionFile(changed));
}

}  // namespace
}  // namespace sluice::control

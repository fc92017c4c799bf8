// The files in testdata/: those in good/ load, and those in bad/ are refused with the very words
// that stand beside them.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rules/reader.h"

namespace sluice::rules {
namespace {

namespace fs = std::filesystem;

std::string Contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> FilesIn(const char* folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(SLUICE_RULES_TESTDATA) / folder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  return names;
}

std::string Messages(const ReadResult& result) {
  std::string text;
  for (const config_text::Diagnostic& error : result.errors) text += Describe(error) + "\n";
  for (const config_text::Diagnostic& warning : result.warnings)
    text += "warning: " + Describe(warning) + "\n";
  return text;
}

ReadResult ReadOf(const fs::path& path) { return Read(path.filename().string(), Contents(path)); }

class BadFileTest : public ::testing::TestWithParam<std::string> {};

TEST_P(BadFileTest, IsRejectedWithThisMessage) {
  const fs::path path = fs::path(SLUICE_RULES_TESTDATA) / "bad" / (GetParam() + ".yaml");
  const ReadResult result = ReadOf(path);
  EXPECT_FALSE(result.file);
  EXPECT_FALSE(result.errors.empty());
  EXPECT_EQ(Messages(result), Contents(fs::path(path).replace_extension(".txt")));
}

INSTANTIATE_TEST_SUITE_P(Corpus, BadFileTest, ::testing::ValuesIn(FilesIn("bad")),
                         [](const auto& file) { return file.param; });

class GoodFileTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoodFileTest, LoadsWithoutDiagnostics) {
  const ReadResult result =
      ReadOf(fs::path(SLUICE_RULES_TESTDATA) / "good" / (GetParam() + ".yaml"));
  EXPECT_EQ(Messages(result), "");
  ASSERT_TRUE(result.file);
  EXPECT_FALSE(result.file->rules.empty());
}

INSTANTIATE_TEST_SUITE_P(Corpus, GoodFileTest, ::testing::ValuesIn(FilesIn("good")),
                         [](const auto& file) { return file.param; });

}  // namespace
}  // namespace sluice::rules

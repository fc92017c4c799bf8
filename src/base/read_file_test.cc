#include "base/read_file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice {
namespace {

class ReadFileTest : public ::testing::Test {
 protected:
  ~ReadFileTest() override { std::filesystem::remove(path_); }

  void Write(const std::string& content) { std::ofstream(path_, std::ios::binary) << content; }

  std::string path_ =
      std::filesystem::temp_directory_path() / ("read_file_test_" + std::to_string(getpid()));
};

TEST_F(ReadFileTest, FilesUpToTheBoundAreReadWhole) {
  const std::string content(200'000, 'x');
  Write(content);
  EXPECT_EQ(*ReadFile(path_), content);
  EXPECT_EQ(*ReadFile(path_, content.size()), content);
  EXPECT_EQ(ReadFile(path_, content.size() - 1).error().message, "is larger than 199999 bytes");
  EXPECT_EQ(ReadFile("/dev/zero", 10).error().message, "is larger than 10 bytes");
}

TEST_F(ReadFileTest, ErrorsSayWhyAFileCantBeRead) {
  EXPECT_EQ(ReadFile("/nowhere").error().message, "can't be read: No such file or directory");
  EXPECT_EQ(ReadFile("/tmp").error().message, "can't be read: Is a directory");
}

TEST_F(ReadFileTest, SecretsHaveNoLineBreaksAtTheirEnd) {
  Write("two\nlines \r\n\n");
  EXPECT_EQ(*ReadSecretFile(path_), "two\nlines ");
  Write("\r\n");
  EXPECT_EQ(ReadSecretFile(path_).error().message, "is empty");
  Write("");
  EXPECT_EQ(ReadSecretFile(path_).error().message, "is empty");
}

}  // namespace
}  // namespace sluice

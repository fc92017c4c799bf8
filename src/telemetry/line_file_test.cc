#include "telemetry/line_file.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::telemetry {
namespace {

class LineFileTest : public ::testing::Test {
 protected:
  LineFileTest() {
    std::string name = std::filesystem::temp_directory_path() / "line_file_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~LineFileTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string Content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  std::string folder_;
};

TEST_F(LineFileTest, LinesAreAppendedInTheirOrder) {
  {
    const auto file = LineFile::Open(Path("log"));
    ASSERT_TRUE(file);
    for (int i = 0; i < 1000; ++i) (*file)->Write(std::to_string(i) + "\n");
  }
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(Content(Path("log")), expected);
}

TEST_F(LineFileTest, AFileThatWasMovedIsOpenedAgain) {
  const auto file = LineFile::Open(Path("log"));
  ASSERT_TRUE(file);
  (*file)->Write("before\n");
  while ((*file)->written() < 1) usleep(1000);
  std::filesystem::rename(Path("log"), Path("log.1"));
  (*file)->Write("after\n");
  while ((*file)->written() < 2) usleep(1000);
  EXPECT_EQ(Content(Path("log.1")), "before\n");
  EXPECT_EQ(Content(Path("log")), "after\n");
}

TEST_F(LineFileTest, LinesBeyondTheQueueAreDroppedAndCounted) {
  std::signal(SIGPIPE, SIG_IGN);
  // The pipe takes a few pages, until it is read from.
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const int reader = open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  auto file = LineFile::Open(Path("pipe"));
  ASSERT_TRUE(file);
  const std::string line(1 << 20, 'x');
  for (int i = 0; i < 16; ++i) (*file)->Write(line + "\n");
  EXPECT_GE((*file)->dropped(), 4U);
  close(reader);  // The rest can't be written any more.
  file->reset();
}

TEST_F(LineFileTest, StoppingDoesNotWaitForAReaderThatIsStuck) {
  std::signal(SIGPIPE, SIG_IGN);
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(LineFile::Open(Path("pipe"))) << "nor does starting wait for one";
  const int reader = open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  auto file = LineFile::Open(Path("pipe"));
  ASSERT_TRUE(file);
  (*file)->Write(std::string(1 << 20, 'x') + "\n");
  EXPECT_FALSE((*file)->TryStop(std::chrono::milliseconds(10)));
  close(reader);
  file->reset();
}

TEST_F(LineFileTest, AFileThatCannotBeOpenedIsAnError) {
  const auto file = LineFile::Open(Path("no/such/folder"));
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace sluice::telemetry

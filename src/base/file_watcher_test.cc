#include "base/file_watcher.h"

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/folder.h"

namespace sluice {

// For messages of failed tests.
void PrintTo(const FileChange& change, std::ostream* out) {
  *out << "error \"" << change.error << '"';
  for (const FileContent& file : change.files)
    *out << ' ' << file.path << "=\"" << file.content << '"';
}

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::ConfigMapVolume;
using ::testing::Eq;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Optional;
using testing::WriteByRename;
using testing::WriteInPlace;

// The file system is real, the time is not.
class FileWatcherTest : public ::testing::Test {
 protected:
  void Watch(const std::string& path) {
    watcher_.emplace(WatchedFiles(path));
    path_ = path;
  }

  void WatchDirectory(const std::string& path) {
    watcher_.emplace(WatchedFiles::InDirectory(path, {".yaml", ".yml"}));
  }

  // The same of a directory: names and contents, "a.yaml=1 b.yml=2"; or the error.
  std::optional<std::string> FilesWithin(Micros span = milliseconds(999)) {
    const auto change = Within(span);
    if (!change) return std::nullopt;
    std::string text = change->error;
    for (const FileContent& file : change->files) {
      text +=
          (text.empty() ? "" : " ") + fs::path(file.path).filename().string() + "=" + file.content;
    }
    return text;
  }

  // The first change that is reported in the next second, the time that a change may take.
  std::optional<FileChange> Within(Micros span = milliseconds(999)) {
    for (const SteadyTime end = now_ + span; now_ < end; now_ += kPollInterval) {
      if (auto change = watcher_->Poll(now_)) return change;
    }
    return std::nullopt;
  }

  [[nodiscard]] FileChange Content(std::string content) const {
    return {.files = {{.path = path_, .content = std::move(content)}}};
  }
  static auto Error(const std::string& part) {
    return Optional(::testing::Field("error", &FileChange::error, HasSubstr(part)));
  }

  Folder folder_;
  std::optional<FileWatcher> watcher_;
  SteadyTime now_{std::chrono::hours(1)};
  std::string path_;
};

TEST_F(FileWatcherTest, TheFirstPollReturnsTheContent) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  EXPECT_THAT(watcher_->Poll(now_), Optional(Content("one")));
}

TEST_F(FileWatcherTest, TheFilesOfADirectoryAreReportedTogether) {
  WriteInPlace(folder_ / "b.yml", "2");
  WriteInPlace(folder_ / "a.yaml", "1");
  WriteInPlace(folder_ / "notes.txt", "no");
  WriteInPlace(folder_ / ".hidden.yaml", "no");
  fs::create_directory(folder_ / "inner.yaml");
  WatchDirectory(folder_.path().string());
  EXPECT_THAT(FilesWithin(), Optional(Eq("a.yaml=1 b.yml=2")));
  WriteInPlace(folder_ / "notes.txt", "still no");
  EXPECT_EQ(FilesWithin(std::chrono::seconds(5)), std::nullopt);
}

TEST_F(FileWatcherTest, EveryChangeInADirectoryIsDetected) {
  WatchDirectory(folder_.path().string());
  EXPECT_THAT(FilesWithin(), Optional(Eq("")));
  WriteInPlace(folder_ / "a.yaml", "1");
  EXPECT_THAT(FilesWithin(), Optional(Eq("a.yaml=1")));
  WriteByRename(folder_ / "b.yaml", "2");
  EXPECT_THAT(FilesWithin(), Optional(Eq("a.yaml=1 b.yaml=2")));
  WriteInPlace(folder_ / "a.yaml", "3");
  EXPECT_THAT(FilesWithin(), Optional(Eq("a.yaml=3 b.yaml=2")));
  fs::rename(folder_ / "a.yaml", folder_ / "c.yaml");
  EXPECT_THAT(FilesWithin(), Optional(Eq("b.yaml=2 c.yaml=3")));
  fs::remove(folder_ / "b.yaml");
  EXPECT_THAT(FilesWithin(), Optional(Eq("c.yaml=3")));
}

TEST_F(FileWatcherTest, AConfigMapDirectoryIsOneChange) {
  ConfigMapVolume volume(folder_.path() / "mount", "config.yaml", "one");
  WatchDirectory(folder_ / "mount");
  EXPECT_THAT(FilesWithin(), Optional(Eq("config.yaml=one")));
  for (const char* content : {"two", "six", "ten"}) {
    volume.Update(content);
    EXPECT_THAT(FilesWithin(), Optional(Eq(std::string("config.yaml=") + content)));
  }
}

TEST_F(FileWatcherTest, ADirectoryWatchedThroughALinkMayBeAnotherOne) {
  fs::create_directory(folder_ / "1");
  fs::create_directory(folder_ / "2");
  WriteInPlace(folder_ / "1/a.yaml", "1");
  WriteInPlace(folder_ / "2/a.yaml", "2");
  fs::create_directory_symlink("1", folder_ / "current");
  WatchDirectory(folder_ / "current");
  EXPECT_THAT(FilesWithin(), Optional(Eq("a.yaml=1")));
  fs::create_directory_symlink("2", folder_ / "next");
  fs::rename(folder_ / "next", folder_ / "current");
  EXPECT_THAT(FilesWithin(), Optional(Eq("a.yaml=2")));
}

TEST_F(FileWatcherTest, AMissingDirectoryIsAnError) {
  WatchDirectory(folder_ / "config");
  EXPECT_THAT(FilesWithin(), Optional(HasSubstr("can't be read: No such file or directory")));
  fs::create_directory(folder_ / "config");
  WriteInPlace(folder_ / "config/a.yaml", "1");
  EXPECT_THAT(FilesWithin(), Optional(Eq("a.yaml=1")));
  fs::create_symlink("nowhere", folder_ / "config/b.yaml");
  EXPECT_THAT(FilesWithin(), Optional(HasSubstr("can't be read: No such file or directory")));
}

TEST_F(FileWatcherTest, NothingIsReportedAsLongAsNothingChanges) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  EXPECT_EQ(Within(std::chrono::seconds(10)), std::nullopt);
}

TEST_F(FileWatcherTest, WritingInPlaceIsDetected) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  WriteInPlace(folder_ / "rules.yaml", "another");
  EXPECT_THAT(Within(), Optional(Content("another")));
}

TEST_F(FileWatcherTest, ContentOfTheSameLengthWrittenAtTheSameTimeIsDetected) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  for (const char* content : {"two", "six", "ten"}) {
    WriteInPlace(folder_ / "rules.yaml", content);
    EXPECT_THAT(Within(), Optional(Content(content)));
  }
}

TEST_F(FileWatcherTest, TheSameContentWrittenAgainIsNoChange) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  WriteByRename(folder_ / "rules.yaml", "one");
  EXPECT_EQ(Within(), std::nullopt);
}

TEST_F(FileWatcherTest, ReplacementByRenameIsDetectedEachTime) {
  WriteInPlace(folder_ / "rules.yaml", "0");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  for (int i = 1; i < 5; ++i) {
    WriteByRename(folder_ / "rules.yaml", std::to_string(i));
    EXPECT_THAT(Within(), Optional(Content(std::to_string(i))));
  }
}

TEST_F(FileWatcherTest, AConfigMapUpdateIsDetectedEachTime) {
  ConfigMapVolume volume(folder_ / "mount", "rules.yaml", "0");
  Watch(volume.file());
  ASSERT_THAT(Within(), Optional(Content("0")));
  for (int i = 1; i < 5; ++i) {
    volume.Update(std::to_string(i));
    EXPECT_THAT(Within(), Optional(Content(std::to_string(i))));
  }
}

TEST_F(FileWatcherTest, ARetargetedDirectoryLinkIsDetected) {
  for (const char* release : {"v1", "v2"}) {
    fs::create_directory(folder_ / release);
    WriteInPlace((folder_ / release) + "/rules.yaml", release);
  }
  fs::create_directory_symlink("v1", folder_ / "current");
  Watch(folder_ / "current/rules.yaml");
  ASSERT_THAT(Within(), Optional(Content("v1")));
  fs::create_directory_symlink("v2", folder_ / "next");
  fs::rename(folder_ / "next", folder_ / "current");
  EXPECT_THAT(Within(), Optional(Content("v2")));
  WriteInPlace(folder_ / "v2/rules.yaml", "v2, edited");
  EXPECT_THAT(Within(), Optional(Content("v2, edited")));
  WriteInPlace(folder_ / "v1/rules.yaml", "v1, edited");
  EXPECT_EQ(Within(), std::nullopt);
}

TEST_F(FileWatcherTest, ReadNowReturnsContentWhileTheFileIsWritten) {
  WriteByRename(folder_ / "rules.yaml", "0");
  std::atomic<bool> over = false;
  std::thread writer([&] {
    for (int i = 1; !over; ++i) WriteByRename(folder_ / "rules.yaml", std::to_string(i));
  });
  for (int i = 0; i < 500; ++i) {
    Watch(folder_ / "rules.yaml");
    EXPECT_EQ(watcher_->ReadNow(SteadyTime{}).error, "");
  }
  over = true;
  writer.join();
  WriteByRename(folder_ / "rules.yaml", "the last");
  EXPECT_THAT(watcher_->ReadNow(SteadyTime{}), Content("the last"));
}

TEST_F(FileWatcherTest, ADeletedFileIsReportedAndSoIsTheNextOne) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  fs::remove(folder_ / "rules.yaml");
  EXPECT_THAT(Within(), Error("can't be read: No such file or directory"));
  EXPECT_EQ(Within(), std::nullopt);
  WriteInPlace(folder_ / "rules.yaml", "one");
  EXPECT_THAT(Within(), Optional(Content("one")));
}

TEST_F(FileWatcherTest, AFileThatIsMissingForAnInstantIsNotReported) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  fs::remove(folder_ / "rules.yaml");
  EXPECT_EQ(watcher_->Poll(now_), std::nullopt);
  now_ += milliseconds(1);
  WriteInPlace(folder_ / "rules.yaml", "two");
  EXPECT_THAT(Within(), Optional(Content("two")));
}

TEST_F(FileWatcherTest, AFileThatIsCreatedLaterIsDetected) {
  Watch(folder_ / "rules.yaml");
  EXPECT_THAT(Within(), Error("No such file"));
  WriteInPlace(folder_ / "rules.yaml", "at last");
  EXPECT_THAT(Within(), Optional(Content("at last")));
}

TEST_F(FileWatcherTest, ARecreatedDirectoryIsDetected) {
  fs::create_directories(folder_ / "etc/sluice");
  WriteInPlace(folder_ / "etc/sluice/rules.yaml", "one");
  Watch(folder_ / "etc/sluice/rules.yaml");
  ASSERT_TRUE(Within());
  fs::remove_all(folder_ / "etc");
  EXPECT_THAT(Within(), Error("No such file"));
  fs::create_directories(folder_ / "etc/sluice");
  EXPECT_EQ(Within(), std::nullopt);
  WriteInPlace(folder_ / "etc/sluice/rules.yaml", "two");
  EXPECT_THAT(Within(), Optional(Content("two")));
  WriteInPlace(folder_ / "etc/sluice/rules.yaml", "three");
  EXPECT_THAT(Within(), Optional(Content("three")));
}

TEST_F(FileWatcherTest, ADirectoryReplacedByARenameIsDetected) {
  for (const char* name : {"etc", "new"}) {
    fs::create_directory(folder_ / name);
    WriteInPlace((folder_ / name) + "/rules.yaml", name);
  }
  Watch(folder_ / "etc/rules.yaml");
  ASSERT_THAT(Within(), Optional(Content("etc")));
  fs::rename(folder_ / "etc", folder_ / "old");
  fs::rename(folder_ / "new", folder_ / "etc");
  EXPECT_THAT(Within(), Optional(Content("new")));
  WriteInPlace(folder_ / "etc/rules.yaml", "edited");
  EXPECT_THAT(Within(), Optional(Content("edited")));
}

TEST_F(FileWatcherTest, WritingThroughAHardLinkIsDetected) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  fs::create_directory(folder_ / "elsewhere");
  fs::create_hard_link(folder_ / "rules.yaml", folder_ / "elsewhere/other.yaml");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  WriteInPlace(folder_ / "elsewhere/other.yaml", "another");
  EXPECT_THAT(Within(), Optional(Content("another")));
}

TEST_F(FileWatcherTest, ABurstOfWritesIsReadOnce) {
  WriteInPlace(folder_ / "rules.yaml", "0");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  for (int i = 1; i <= 10; ++i) {
    WriteByRename(folder_ / "rules.yaml", std::to_string(i));
    EXPECT_EQ(watcher_->Poll(now_), std::nullopt);
    now_ += milliseconds(5);
  }
  EXPECT_THAT(Within(), Optional(Content("10")));
  EXPECT_EQ(Within(), std::nullopt);
}

TEST_F(FileWatcherTest, OtherFilesOfTheDirectoryDoNotMatter) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  WriteInPlace(folder_ / "rules.yaml.swp", "x");
  EXPECT_EQ(Within(), std::nullopt);
}

TEST_F(FileWatcherTest, AFileLargerThanAllowedIsAnError) {
  WriteInPlace(folder_ / "rules.yaml", std::string(101, 'x'));
  watcher_.emplace(WatchedFiles(folder_ / "rules.yaml"), FileWatcherOptions{.max_bytes = 100});
  EXPECT_THAT(Within(), Error("is larger than 100 bytes"));
}

TEST_F(FileWatcherTest, ANonFileIsAnErrorAndAPipeIsNotWaitedFor) {
  fs::create_directory(folder_ / "rules.yaml");
  Watch(folder_ / "rules.yaml");
  EXPECT_THAT(Within(), Error("is not a regular file"));
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  Watch(folder_ / "pipe");
  EXPECT_THAT(Within(), Error("is not a regular file"));
}

TEST_F(FileWatcherTest, AHalfWrittenFileIsNotReadUntilItsWriterIsDone) {
  WriteInPlace(folder_ / "rules.yaml", "old");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  std::ofstream writer(folder_ / "rules.yaml", std::ios::trunc);
  writer << "rules: [" << std::flush;
  EXPECT_EQ(Within(milliseconds(500)), std::nullopt);
  writer << "]" << std::flush;
  EXPECT_EQ(Within(milliseconds(500)), std::nullopt);
  writer.close();
  EXPECT_THAT(Within(milliseconds(500)), Optional(Content("rules: []")));
}

TEST_F(FileWatcherTest, AFileThatIsBeingCreatedIsNotReadUntilItsWriterIsDone) {
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  std::ofstream writer(folder_ / "rules.yaml");
  EXPECT_EQ(Within(milliseconds(500)), std::nullopt);
  writer << "rules: []";
  writer.close();
  EXPECT_THAT(Within(), Optional(Content("rules: []")));
}

TEST_F(FileWatcherTest, AWriterThatNeverClosesTheFileIsNotWaitedForForever) {
  WriteInPlace(folder_ / "rules.yaml", "old");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  std::ofstream writer(folder_ / "rules.yaml", std::ios::trunc);
  writer << "half" << std::flush;
  EXPECT_THAT(Within(), Optional(Content("half")));
  writer << " and whole" << std::flush;
  EXPECT_THAT(Within(), Optional(Content("half and whole")));
}

TEST_F(FileWatcherTest, SeveralFilesAreReportedTogether) {
  WriteInPlace(folder_ / "cert.pem", "1");
  WriteInPlace(folder_ / "key.pem", "2");
  watcher_.emplace(WatchedFiles({folder_ / "key.pem", folder_ / "cert.pem"}));
  EXPECT_THAT(FilesWithin(), Optional(Eq("key.pem=2 cert.pem=1")));
  WriteByRename(folder_ / "cert.pem", "3");
  EXPECT_EQ(FilesWithin(milliseconds(500)), std::nullopt);
  WriteByRename(folder_ / "key.pem", "4");
  EXPECT_EQ(FilesWithin(milliseconds(500)), std::nullopt);
  EXPECT_THAT(FilesWithin(), Optional(Eq("key.pem=4 cert.pem=3")));
  fs::remove(folder_ / "key.pem");
  EXPECT_THAT(FilesWithin(), Optional(HasSubstr("can't be read")));
}

TEST_F(FileWatcherTest, AFileThatChangesConstantlyIsReadEventually) {
  WriteInPlace(folder_ / "rules.yaml", "0");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  std::optional<FileChange> reported;
  for (int i = 0; i < 1000 && !reported; ++i) {
    WriteInPlace(folder_ / "rules.yaml", std::string(static_cast<std::size_t>(i), 'x'));
    now_ += milliseconds(10);
    reported = watcher_->Poll(now_);
  }
  EXPECT_TRUE(reported);
}

// The changes that a thread received, for another to wait for.
class ReportedChanges {
 public:
  WatchThread::Watch Watch(const std::string& path) {
    return {.watcher = FileWatcher(WatchedFiles(path)), .on_change = [this](const auto& change) {
              const std::lock_guard lock(mutex_);
              changes_.push_back(change);
              came_.notify_all();
            }};
  }
  // Waits until the last that came has this content.
  bool Becomes(const std::string& content) {
    std::unique_lock lock(mutex_);
    return came_.wait_for(lock, std::chrono::seconds(30), [&] {
      return !changes_.empty() && changes_.back().files.size() == 1 &&
             changes_.back().files[0].content == content;
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<FileChange> changes_;
};

TEST(WatchThreadTest, ReportsTheContentAndItsChanges) {
  const Folder folder;
  ConfigMapVolume volume(folder / "mount", "rules.yaml", "0");
  ReportedChanges reported;
  const WatchThread thread({reported.Watch(volume.file())});
  ASSERT_TRUE(reported.Becomes("0"));
  for (int i = 1; i < 4; ++i) {
    volume.Update(std::to_string(i));
    ASSERT_TRUE(reported.Becomes(std::to_string(i)));
  }
}

TEST(WatchThreadTest, SeveralFilesAreWatchedIndependently) {
  const Folder folder;
  WriteInPlace(folder / "a", "1");
  WriteInPlace(folder / "b", "2");
  ReportedChanges first;
  ReportedChanges second;
  const WatchThread thread({first.Watch(folder / "a"), second.Watch(folder / "b")});
  ASSERT_TRUE(first.Becomes("1"));
  ASSERT_TRUE(second.Becomes("2"));
  WriteByRename(folder / "b", "3");
  ASSERT_TRUE(second.Becomes("3"));
  ASSERT_TRUE(first.Becomes("1"));
}

TEST(WatchThreadTest, StopsImmediatelyEvenIfTheNextPollIsHoursAway) {
  const Folder folder;
  WriteInPlace(folder / "rules.yaml", "one");
  ReportedChanges reported;
  {
    const WatchThread thread({reported.Watch(folder / "rules.yaml")}, std::chrono::hours(5));
    ASSERT_TRUE(reported.Becomes("one"));
  }  // Else the test's time limit ends it.
}

}  // namespace
}  // namespace sluice

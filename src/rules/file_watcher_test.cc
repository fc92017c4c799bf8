#include "rules/file_watcher.h"

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

#include "rules/testing/folder.h"

namespace sluice::rules {

// For messages of failed tests.
void PrintTo(const FileChange& change, std::ostream* out) {
  *out << (change.content ? "content \"" + *change.content : "error \"" + change.error) << '"';
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

// How a file is watched: both ways must notice everything.
struct Way {
  const char* name;
  bool listen;
};

// The file system is real, the time is not: what is heard is there when a system call returns.
class FileWatcherTest : public ::testing::TestWithParam<Way> {
 protected:
  void Watch(const std::string& path) {
    watcher_.emplace(path, FileWatcherOptions{.listen = GetParam().listen});
    path_ = path;
  }

  void WatchDirectory(const std::string& path) {
    watcher_.emplace(path,
                     FileWatcherOptions{.listen = GetParam().listen, .endings = {".yaml", ".yml"}});
    path_ = path;
  }

  // The same of a directory: names and contents, "a.yaml=1 b.yml=2"; or the error.
  std::optional<std::string> FilesWithin(Micros span = milliseconds(999)) {
    const auto change = Within(span);
    if (!change) return std::nullopt;
    std::string text = change->error;
    for (const FoundFile& file : change->files) {
      text +=
          (text.empty() ? "" : " ") + fs::path(file.path).filename().string() + "=" + file.content;
    }
    return text;
  }

  // What is told in the next second, which is the time that a change may take; nothing if nothing.
  std::optional<FileChange> Within(Micros span = milliseconds(999)) {
    const SteadyTime end = now_ + span;
    while (true) {
      if (auto change = watcher_->Look(now_)) return change;
      const SteadyTime next = std::max(watcher_->due(), now_ + milliseconds(1));
      if (next > end) break;
      now_ = next;
    }
    now_ = end;
    return std::nullopt;
  }

  [[nodiscard]] FileChange Content(std::string content) const {
    return {.path = path_, .content = std::move(content), .error = {}};
  }
  static auto Error(const std::string& part) {
    return Optional(::testing::Field("error", &FileChange::error, HasSubstr(part)));
  }

  Folder folder_;
  std::optional<FileWatcher> watcher_;
  SteadyTime now_{std::chrono::hours(1)};
  std::string path_;
};

INSTANTIATE_TEST_SUITE_P(Ways, FileWatcherTest,
                         ::testing::Values(Way{"Listening", true}, Way{"Polling", false}),
                         [](const auto& way) { return way.param.name; });

TEST_P(FileWatcherTest, TheFirstLookTellsWhatTheFileIs) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  EXPECT_THAT(watcher_->Look(now_), Optional(Content("one")));
  EXPECT_EQ(watcher_->listening(), GetParam().listen);
  EXPECT_EQ(watcher_->descriptor() >= 0, GetParam().listen);
}

TEST_P(FileWatcherTest, TheFilesOfADirectoryAreToldTogether) {
  WriteInPlace(folder_ / "b.yml", "2");
  WriteInPlace(folder_ / "a.yaml", "1");
  WriteInPlace(folder_ / "notes.txt", "no");
  WriteInPlace(folder_ / ".hidden.yaml", "no");
  fs::create_directory(folder_ / "inner.yaml");
  WatchDirectory(folder_.path().string());
  EXPECT_THAT(FilesWithin(), Optional(Eq("a.yaml=1 b.yml=2")));
  EXPECT_EQ(watcher_->listening(), GetParam().listen);
  WriteInPlace(folder_ / "notes.txt", "still no");
  EXPECT_EQ(FilesWithin(std::chrono::seconds(5)), std::nullopt);
}

TEST_P(FileWatcherTest, EveryChangeInADirectoryIsNoticed) {
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

TEST_P(FileWatcherTest, ADirectoryThatKubernetesFillsIsOne) {
  ConfigMapVolume volume(folder_.path() / "mount", "config.yaml", "one");
  WatchDirectory(folder_ / "mount");
  EXPECT_THAT(FilesWithin(), Optional(Eq("config.yaml=one")));
  for (const char* content : {"two", "six", "ten"}) {
    volume.Update(content);
    EXPECT_THAT(FilesWithin(), Optional(Eq(std::string("config.yaml=") + content)));
  }
}

TEST_P(FileWatcherTest, ADirectoryWatchedThroughALinkMayBeAnotherOne) {
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

TEST_P(FileWatcherTest, ADirectoryThatIsNotThereIsAnError) {
  WatchDirectory(folder_ / "config");
  EXPECT_THAT(FilesWithin(), Optional(HasSubstr("can't be read: No such file or directory")));
  fs::create_directory(folder_ / "config");
  WriteInPlace(folder_ / "config/a.yaml", "1");
  EXPECT_THAT(FilesWithin(), Optional(Eq("a.yaml=1")));
  fs::create_symlink("nowhere", folder_ / "config/b.yaml");
  EXPECT_THAT(FilesWithin(), Optional(HasSubstr("can't be opened: No such file or directory")));
}

TEST_P(FileWatcherTest, NothingIsToldAsLongAsNothingChanges) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  EXPECT_EQ(Within(std::chrono::seconds(10)), std::nullopt);
}

TEST_P(FileWatcherTest, WritingInPlaceIsNoticed) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  WriteInPlace(folder_ / "rules.yaml", "another");
  EXPECT_THAT(Within(), Optional(Content("another")));
}

TEST_P(FileWatcherTest, ContentOfTheSameLengthWrittenInTheSameMomentIsNoticed) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  for (const char* content : {"two", "six", "ten"}) {
    WriteInPlace(folder_ / "rules.yaml", content);
    EXPECT_THAT(Within(), Optional(Content(content)));
  }
}

TEST_P(FileWatcherTest, TheSameContentWrittenAgainIsNoChange) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  WriteByRename(folder_ / "rules.yaml", "one");
  EXPECT_EQ(Within(), std::nullopt);
}

TEST_P(FileWatcherTest, ReplacementByRenameIsNoticedEachTime) {
  WriteInPlace(folder_ / "rules.yaml", "0");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  for (int i = 1; i < 5; ++i) {
    WriteByRename(folder_ / "rules.yaml", std::to_string(i));
    EXPECT_THAT(Within(), Optional(Content(std::to_string(i))));
  }
}

TEST_P(FileWatcherTest, AConfigMapUpdateIsNoticedEachTime) {
  ConfigMapVolume volume(folder_ / "mount", "rules.yaml", "0");
  Watch(volume.file());
  ASSERT_THAT(Within(), Optional(Content("0")));
  for (int i = 1; i < 5; ++i) {
    volume.Update(std::to_string(i));
    EXPECT_THAT(Within(), Optional(Content(std::to_string(i))));
  }
}

TEST_P(FileWatcherTest, ALinkToADirectoryThatLeadsElsewhereIsNoticed) {
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

TEST_P(FileWatcherTest, WhoAsksNowIsAnsweredAlsoWhileTheFileIsWritten) {
  WriteByRename(folder_ / "rules.yaml", "0");
  std::atomic<bool> over = false;
  std::thread writer([&] {
    for (int i = 1; !over; ++i) WriteByRename(folder_ / "rules.yaml", std::to_string(i));
  });
  for (int i = 0; i < 500; ++i) {
    Watch(folder_ / "rules.yaml");
    EXPECT_TRUE(watcher_->LookNow(SteadyTime{}).content);
  }
  over = true;
  writer.join();
  WriteByRename(folder_ / "rules.yaml", "the last");
  EXPECT_THAT(watcher_->LookNow(SteadyTime{}).content, Optional(Eq("the last")));
}

TEST_P(FileWatcherTest, ADeletedFileIsToldAndSoIsTheNextOne) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  fs::remove(folder_ / "rules.yaml");
  EXPECT_THAT(Within(), Error("can't be opened: No such file or directory"));
  EXPECT_EQ(Within(), std::nullopt);
  WriteInPlace(folder_ / "rules.yaml", "one");
  EXPECT_THAT(Within(), Optional(Content("one")));
}

TEST_P(FileWatcherTest, AFileThatIsMissingForAnInstantIsNotMissed) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  fs::remove(folder_ / "rules.yaml");
  EXPECT_EQ(watcher_->Look(now_), std::nullopt);
  now_ += milliseconds(1);
  WriteInPlace(folder_ / "rules.yaml", "two");
  EXPECT_THAT(Within(), Optional(Content("two")));
}

TEST_P(FileWatcherTest, AFileThatComesLaterIsNoticed) {
  Watch(folder_ / "rules.yaml");
  EXPECT_THAT(Within(), Error("No such file"));
  WriteInPlace(folder_ / "rules.yaml", "at last");
  EXPECT_THAT(Within(), Optional(Content("at last")));
}

TEST_P(FileWatcherTest, ADirectoryThatIsMadeAnewIsNoticed) {
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

TEST_P(FileWatcherTest, ADirectoryThatIsReplacedByARenameIsNoticed) {
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

TEST_P(FileWatcherTest, TheOtherNameOfAFileIsNoHidingPlace) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  fs::create_directory(folder_ / "elsewhere");
  fs::create_hard_link(folder_ / "rules.yaml", folder_ / "elsewhere/other.yaml");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  WriteInPlace(folder_ / "elsewhere/other.yaml", "another");
  EXPECT_THAT(Within(), Optional(Content("another")));
}

TEST_P(FileWatcherTest, WhatIsWrittenInABurstIsReadOnce) {
  WriteInPlace(folder_ / "rules.yaml", "0");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  for (int i = 1; i <= 10; ++i) {
    WriteByRename(folder_ / "rules.yaml", std::to_string(i));
    EXPECT_EQ(watcher_->Look(now_), std::nullopt);
    now_ += milliseconds(5);
  }
  EXPECT_THAT(Within(), Optional(Content("10")));
  EXPECT_EQ(Within(), std::nullopt);
}

TEST_P(FileWatcherTest, OtherFilesOfTheDirectoryDoNotMatter) {
  WriteInPlace(folder_ / "rules.yaml", "one");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  const SteadyTime due = watcher_->due();
  WriteInPlace(folder_ / "rules.yaml.swp", "x");
  EXPECT_EQ(watcher_->Look(now_), std::nullopt);
  EXPECT_EQ(watcher_->due(), due);
}

TEST_P(FileWatcherTest, AFileLargerThanAllowedIsAnError) {
  WriteInPlace(folder_ / "rules.yaml", std::string(101, 'x'));
  watcher_.emplace(folder_ / "rules.yaml",
                   FileWatcherOptions{.listen = GetParam().listen, .max_bytes = 100});
  EXPECT_THAT(Within(), Error("is larger than 100 bytes"));
}

TEST_P(FileWatcherTest, WhatIsNoFileIsAnErrorAndNobodyWaitsForAPipe) {
  fs::create_directory(folder_ / "rules.yaml");
  Watch(folder_ / "rules.yaml");
  EXPECT_THAT(Within(), Error("is not a regular file"));
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  Watch(folder_ / "pipe");
  EXPECT_THAT(Within(), Error("is not a regular file"));
}

// Only who listens knows that somebody is still writing.
using ListeningFileWatcherTest = FileWatcherTest;
INSTANTIATE_TEST_SUITE_P(Ways, ListeningFileWatcherTest, ::testing::Values(Way{"Listening", true}),
                         [](const auto& way) { return way.param.name; });

TEST_P(ListeningFileWatcherTest, AHalfWrittenFileIsNotSeenUntilItsWriterIsDone) {
  WriteInPlace(folder_ / "rules.yaml", "old");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  std::ofstream writer(folder_ / "rules.yaml", std::ios::trunc);
  writer << "rules: [" << std::flush;
  EXPECT_EQ(Within(milliseconds(400)), std::nullopt);
  writer << "]" << std::flush;
  EXPECT_EQ(Within(milliseconds(400)), std::nullopt);
  writer.close();
  EXPECT_THAT(Within(milliseconds(100)), Optional(Content("rules: []")));
}

TEST_P(ListeningFileWatcherTest, AFileThatIsBeingMadeIsNotSeenUntilItsWriterIsDone) {
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  std::ofstream writer(folder_ / "rules.yaml");
  EXPECT_EQ(Within(milliseconds(400)), std::nullopt);
  writer << "rules: []";
  writer.close();
  EXPECT_THAT(Within(milliseconds(100)), Optional(Content("rules: []")));
}

TEST_P(ListeningFileWatcherTest, AWriterThatNeverClosesTheFileIsNotWaitedForForever) {
  WriteInPlace(folder_ / "rules.yaml", "old");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  std::ofstream writer(folder_ / "rules.yaml", std::ios::trunc);
  writer << "half" << std::flush;
  EXPECT_THAT(Within(), Optional(Content("half")));
  writer << " and whole" << std::flush;
  EXPECT_THAT(Within(), Optional(Content("half and whole")));
}

TEST_P(FileWatcherTest, AFileThatNeverRestsIsReadAllTheSame) {
  WriteInPlace(folder_ / "rules.yaml", "0");
  Watch(folder_ / "rules.yaml");
  ASSERT_TRUE(Within());
  std::optional<FileChange> told;
  for (int i = 0; i < 1000 && !told; ++i) {
    WriteInPlace(folder_ / "rules.yaml", std::string(static_cast<std::size_t>(i), 'x'));
    now_ += milliseconds(10);
    told = watcher_->Look(now_);
  }
  EXPECT_TRUE(told);
}

TEST(DirectoryEventsTest, WhereItCanNotListenItSaysSo) {
  const Folder folder;
  DirectoryEvents events;
  EXPECT_TRUE(events.ListenAt({{folder.path(), "rules.yaml"}}));
  EXPECT_FALSE(events.ListenAt({{folder / "missing", "rules.yaml"}}));
}

// What a thread was told, for another to wait for.
class Told {
 public:
  void Add(const FileChange& change) {
    const std::lock_guard lock(mutex_);
    changes_.push_back(change);
    came_.notify_all();
  }
  // Waits until the last that came has this content.
  bool Becomes(const std::string& content) {
    std::unique_lock lock(mutex_);
    return came_.wait_for(lock, std::chrono::seconds(30),
                          [&] { return !changes_.empty() && changes_.back().content == content; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<FileChange> changes_;
};

TEST(WatchThreadTest, TellsWhatTheFileIsAndWhatItBecomes) {
  const Folder folder;
  ConfigMapVolume volume(folder / "mount", "rules.yaml", "0");
  Told told;
  const WatchThread thread(FileWatcher(volume.file()),
                           [&](const FileChange& change) { told.Add(change); });
  ASSERT_TRUE(told.Becomes("0"));
  for (int i = 1; i < 4; ++i) {
    volume.Update(std::to_string(i));
    ASSERT_TRUE(told.Becomes(std::to_string(i)));
  }
}

TEST(WatchThreadTest, PollsWhereNothingCanBeHeard) {
  const Folder folder;
  WriteInPlace(folder / "rules.yaml", "one");
  Told told;
  const WatchThread thread(FileWatcher(folder / "rules.yaml", {.listen = false}),
                           [&](const FileChange& change) { told.Add(change); });
  ASSERT_TRUE(told.Becomes("one"));
  WriteByRename(folder / "rules.yaml", "two");
  ASSERT_TRUE(told.Becomes("two"));
}

TEST(WatchThreadTest, EndsAtOnceAlsoWhenNothingIsDueForHours) {
  const Folder folder;
  WriteInPlace(folder / "rules.yaml", "one");
  Told told;
  {
    const WatchThread thread(FileWatcher(folder / "rules.yaml", {.poll = std::chrono::hours(5)}),
                             [&](const FileChange& change) { told.Add(change); });
    ASSERT_TRUE(told.Becomes("one"));
  }  // Else the test's time limit ends it.
}

}  // namespace
}  // namespace sluice::rules

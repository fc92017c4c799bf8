// Disks that refuse writes, and files that others have changed.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/fake_clock.h"
#include "base/testing/folder.h"
#include "control/disk/disk_store.h"
#include "control/disk/last_good_file.h"
#include "control/testing/conformance.h"

namespace sluice::control {
namespace {

namespace fs = std::filesystem;
using sluice::testing::WriteInPlace;
using testing::CommitText;
using testing::FindHistoryProblem;
using ::testing::HasSubstr;
using testing::NextVersion;

/// Fails one kind of change while a test requests it.
class FailingFiles final : public FileSystem {
 public:
  bool fail_writes = false;
  bool fail_appends = false;
  bool fail_syncs = false;

  std::optional<Error> Write(const std::string& path, std::string_view content) override {
    if (!fail_writes) return FileSystem::Write(path, content);
    (void)FileSystem::Write(path, content.substr(0, content.size() / 2));
    return Full(path);
  }
  std::optional<Error> Append(const std::string& path, std::string_view content) override {
    if (!fail_appends) return FileSystem::Append(path, content);
    (void)FileSystem::Append(path, content.substr(0, content.size() / 2));
    return Full(path);
  }
  std::optional<Error> SyncDirectory(const std::string& path) override {
    return fail_syncs ? Full(path) : FileSystem::SyncDirectory(path);
  }

 private:
  static Error Full(const std::string& path) {
    return {ErrorCode::kStoreError, path + ": write failed: No space left on device"};
  }
};

/// Writes without syncing: many records in little time.
class FastFiles final : public FileSystem {
 public:
  std::optional<Error> Append(const std::string& path, std::string_view content) override {
    if (path != path_) {
      file_ = std::unique_ptr<std::FILE, int (*)(std::FILE*)>(std::fopen(path.c_str(), "a"),
                                                              &std::fclose);
      path_ = path;
    }
    std::fwrite(content.data(), 1, content.size(), file_.get());
    return std::nullopt;
  }
  void Flush() { std::fflush(file_.get()); }

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, &std::fclose};
};

class DiskFailureTest : public ::testing::Test {
 protected:
  void OpenStore(FileSystem& files = TheFileSystem()) {
    store_.reset();
    directory_.reset();
    directory_ = std::move(StateDirectory::Open(path_, files).value());
    store_ = std::move(DiskStore::Open(*directory_, clock_).value());
  }
  Error OpenError() {
    store_.reset();
    directory_.reset();
    directory_ = std::move(StateDirectory::Open(path_).value());
    auto store = DiskStore::Open(*directory_, clock_);
    return store ? Error{ErrorCode::kNotSupported, "opened"} : store.error();
  }

  sluice::testing::Folder folder_;
  const std::string path_ = folder_ / "state";
  FakeClock clock_{WallTime{std::chrono::hours(1)}};
  FailingFiles files_;
  std::unique_ptr<StateDirectory> directory_;
  std::unique_ptr<DiskStore> store_;
};

TEST_F(DiskFailureTest, AFullDiskRefusesACommitAndChangesNothing) {
  OpenStore(files_);
  const VersionRef old = CommitText(*store_, "old");
  files_.fail_writes = true;
  const auto result = store_->Commit(NextVersion(old, "new"), old, {.action = "rules.commit"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kStoreError);
  EXPECT_THAT(result.error().message, HasSubstr(path_ + "/versions/1.2"));
  EXPECT_THAT(result.error().message, HasSubstr("No space left on device"));
  EXPECT_EQ(**store_->ReadCurrent(), old);
  EXPECT_EQ(FindHistoryProblem(*store_), "");
  EXPECT_FALSE(fs::exists(path_ + "/versions/1.2.tmp"));
  files_.fail_writes = false;
  CommitText(*store_, "new");
  EXPECT_EQ(FindHistoryProblem(*store_), "");
}

// A limit on the size of files makes the kernel refuse the write.
TEST_F(DiskFailureTest, AWriteThatTheKernelRefusesIsAnErrorWithPathAndReason) {
  OpenStore();
  const VersionRef old = CommitText(*store_, "old");
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto result =
      store_->Commit(NextVersion(old, std::string(100'000, 'x')), old, {.action = "rules.commit"});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kStoreError);
  EXPECT_THAT(result.error().message, HasSubstr("versions/1.2.tmp: write failed: File too large"));
  OpenStore();
  EXPECT_EQ(**store_->ReadCurrent(), old);
  EXPECT_EQ(FindHistoryProblem(*store_), "");
}

TEST_F(DiskFailureTest, ACommitWhoseRecordFindsNoRoomIsLoggedLater) {
  OpenStore(files_);
  const VersionRef old = CommitText(*store_, "old");
  files_.fail_appends = true;
  const Version next = NextVersion(old, "new");
  const auto result = store_->Commit(next, old, {.action = "rules.commit"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->committed);
  EXPECT_EQ(store_->ReadAudit(0, 10)->size(), 2U);
  EXPECT_EQ(FindHistoryProblem(*store_), "");
  // The place for one such record is taken.
  const auto refused = store_->Commit(NextVersion(next.info.ref, "third"), next.info.ref, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kStoreError);
  EXPECT_FALSE(store_->AppendAudit({.action = "other"}));
  files_.fail_appends = false;
  OpenStore(files_);
  EXPECT_EQ(store_->ReadAudit(0, 10)->size(), 2U);
  EXPECT_EQ(store_->AppendAudit({.action = "other"})->sequence, 3U);
  CommitText(*store_, "third");
  EXPECT_EQ(FindHistoryProblem(*store_), "");
}

TEST_F(DiskFailureTest, AFailedAppendLeavesTheLogAsItWas) {
  OpenStore(files_);
  files_.fail_appends = true;
  EXPECT_FALSE(store_->AppendAudit({.action = "lost"}));
  files_.fail_appends = false;
  EXPECT_EQ(store_->AppendAudit({.action = "first"})->sequence, 1U);
  files_.fail_appends = true;
  EXPECT_FALSE(store_->AppendAudit({.action = "lost"}));
  files_.fail_appends = false;
  EXPECT_EQ(store_->AppendAudit({.action = "second"})->sequence, 2U);
  EXPECT_EQ(FindHistoryProblem(*store_), "");
}

TEST_F(DiskFailureTest, ACommitIsDoneIfOnlyTheSyncOfTheDirectoryFailsAfterIt) {
  OpenStore(files_);
  const VersionRef old = CommitText(*store_, "old");
  files_.fail_syncs = true;
  const auto result = store_->Commit(NextVersion(old, "new"), old, {.action = "rules.commit"});
  EXPECT_FALSE(result);  // The version's own file was not synced.
  files_.fail_syncs = false;
  EXPECT_EQ(**store_->ReadCurrent(), old);
  EXPECT_EQ(FindHistoryProblem(*store_), "");
}

TEST_F(DiskFailureTest, ADamagedPointerIsReplacedByOneToTheNewestVersion) {
  for (const bool removed : {false, true}) {
    OpenStore();
    const VersionRef current = CommitText(*store_, "one");
    if (removed) {
      fs::remove(path_ + "/current");
    } else {
      WriteInPlace(path_ + "/current", "garbage");
    }
    OpenStore();
    EXPECT_EQ(**store_->ReadCurrent(), current);
    EXPECT_EQ(store_->ReadAudit(0, 1)->front().event.action, "rules.recover");
    EXPECT_EQ(FindHistoryProblem(*store_), "");
    if (!removed) {
      ASSERT_EQ(store_->repairs().size(), 1U);
      EXPECT_THAT(store_->repairs().front(), HasSubstr(path_ + "/current: not a pointer"));
      EXPECT_TRUE(fs::exists(path_ + "/damaged/current"));
    }
    CommitText(*store_, "next");
    OpenStore();
    EXPECT_TRUE(store_->repairs().empty());
  }
}

TEST_F(DiskFailureTest, APointerOfALaterFormatIsAnError) {
  OpenStore();
  CommitText(*store_, "one");
  WriteInPlace(path_ + "/current", "{\"format\":2}\n{\"format\":2}\nx\n");
  EXPECT_THAT(OpenError().message, HasSubstr("record of format 2"));
}

TEST_F(DiskFailureTest, InPlaceOfADamagedCurrentVersionTheNewestIntactOneIsCurrentAgain) {
  OpenStore();
  CommitText(*store_, "one");
  CommitText(*store_, "two");
  CommitText(*store_, "three");
  const VersionRef last = CommitText(*store_, "four");
  fs::resize_file(path_ + "/versions/1.4", fs::file_size(path_ + "/versions/1.4") - 1);
  WriteInPlace(path_ + "/versions/1.3", "");
  EXPECT_EQ((*store_->ReadVersion(last.id))->text, "four") << "a running process has it in memory";
  OpenStore();
  const VersionRef current = **store_->ReadCurrent();
  EXPECT_EQ(current.id, (VersionId{.epoch = 1, .number = 5}));
  const Version version = **store_->ReadVersion(current.id);
  EXPECT_EQ(version.text, "two");
  EXPECT_EQ(version.info.source, VersionSource::kRecovered);
  EXPECT_EQ(version.info.restores, (VersionId{.epoch = 1, .number = 2}));
  ASSERT_EQ(store_->repairs().size(), 1U);
  EXPECT_THAT(store_->repairs().front(),
              HasSubstr(path_ + "/versions/1.4: text of version 1.4 does not match"));
  EXPECT_EQ(store_->ReadAudit(0, 1)->front().event.action, "rules.recover");
  EXPECT_EQ(FindHistoryProblem(*store_), "");
  EXPECT_TRUE(fs::exists(path_ + "/damaged/versions-1.4"));
  CommitText(*store_, "next");
  OpenStore();
  EXPECT_TRUE(store_->repairs().empty());
}

TEST_F(DiskFailureTest, WithoutAnIntactVersionTheStoreIsEmptyAndCanBeFilled) {
  OpenStore();
  CommitText(*store_, "one");
  WriteInPlace(path_ + "/versions/1.1", "garbage");
  OpenStore();
  EXPECT_EQ(*store_->ReadCurrent(), std::nullopt);
  EXPECT_EQ(store_->repairs().size(), 1U);
  CommitText(*store_, "again");
  EXPECT_EQ(FindHistoryProblem(*store_), "");
}

TEST_F(DiskFailureTest, AnOlderVersionThatIsDamagedIsAnErrorThatNamesTheFile) {
  OpenStore();
  const VersionRef old = CommitText(*store_, "one");
  CommitText(*store_, "two");
  fs::resize_file(path_ + "/versions/1.1", fs::file_size(path_ + "/versions/1.1") - 1);
  for (const bool reopened : {false, true}) {
    if (reopened) OpenStore();
    const auto version = store_->ReadVersion(old.id);
    ASSERT_FALSE(version);
    EXPECT_EQ(version.error().code, ErrorCode::kForeignValue);
    EXPECT_THAT(version.error().message, HasSubstr(path_ + "/versions/1.1: text of version 1.1"));
  }
  EXPECT_TRUE(store_->repairs().empty());
}

TEST_F(DiskFailureTest, ADamagedAuditRecordIsAnErrorThatNamesTheFile) {
  OpenStore();
  CommitText(*store_, "one");
  const std::string log = path_ + "/audit/00000000000000000001.jsonl";
  ASSERT_TRUE(fs::exists(log));
  WriteInPlace(log, "{\"sequence\":1,\"format\":1,\"hash\":\"x\"}\n");
  EXPECT_THAT(OpenError().message, HasSubstr(log + ": last audit record is damaged"));
  fs::remove(log);
  OpenStore();
  EXPECT_EQ(store_->ReadAudit(0, 10)->size(), 1U) << "the pointer has the record of its commit";
}

RecordWrite EntryWrite(std::string id, std::string text) {
  return {.kind = RecordKind::kEntry, .id = std::move(id), .text = std::move(text)};
}

TEST_F(DiskFailureTest, AFullDiskRefusesAWriteOfRecordsAndChangesNothing) {
  OpenStore(files_);
  ASSERT_TRUE(store_->WriteRecords(std::vector{EntryWrite("a", "1")}, {.action = "1"}));
  files_.fail_appends = true;
  const auto refused = store_->WriteRecords(std::vector{EntryWrite("a", "2")}, {.action = "2"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kStoreError);
  files_.fail_appends = false;
  for (const bool reopened : {false, true}) {
    if (reopened) OpenStore(files_);
    EXPECT_EQ(testing::ReadRecordTable(*store_).Find(RecordKind::kEntry, "a")->text, "1");
    EXPECT_EQ(store_->ReadAudit(0, 10)->size(), 1U);
  }
  ASSERT_TRUE(store_->WriteRecords(std::vector{EntryWrite("a", "3")}, {.action = "3"}));
  EXPECT_EQ(FindHistoryProblem(*store_), "");
}

TEST_F(DiskFailureTest, DamagedRecordsAreLeftOutInANewEpochAndTheRestIsWritable) {
  OpenStore();
  for (const char* const id : {"first", "second", "third"}) {
    ASSERT_TRUE(store_->WriteRecords(std::vector{EntryWrite(id, "1")}, {.action = id}));
  }
  std::string content;
  {
    std::ifstream file(path_ + "/records", std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(file), {});
  }
  content[content.find("second")] = 'X';
  WriteInPlace(path_ + "/records", content);
  for (const bool again : {false, true}) {
    OpenStore();
    EXPECT_EQ(store_->repairs().size(), again ? 0U : 1U);
    const RecordTable table = testing::ReadRecordTable(*store_);
    EXPECT_EQ(table.size(), 2U);
    EXPECT_EQ(table.cursor().epoch, 2U);
    EXPECT_EQ(store_->ReadAudit(0, 1)->front().event.action, "records.recover");
    EXPECT_EQ(FindHistoryProblem(*store_), "");
  }
  EXPECT_TRUE(fs::exists(path_ + "/damaged/records"));
  ASSERT_TRUE(store_->WriteRecords(std::vector{EntryWrite("second", "2")}, {}));
}

TEST_F(DiskFailureTest, TheLastHundredThousandRecordsAreKept) {
  FastFiles files;
  OpenStore(files);
  constexpr std::uint64_t kRecords = kAuditRecordsKept + AuditLog::kSegmentRecords + 1;
  for (std::uint64_t i = 0; i < kRecords; ++i) ASSERT_TRUE(store_->AppendAudit({.action = "a"}));
  files.Flush();
  std::size_t count = 0;
  AuditRecord oldest;
  for (std::uint64_t before = 0;;) {
    const auto page = store_->ReadAudit(before, 50'000);
    ASSERT_TRUE(page) << page.error().message;
    if (page->empty()) break;
    count += page->size();
    oldest = page->back();
    before = oldest.sequence;
  }
  EXPECT_EQ(count, kAuditRecordsKept);
  EXPECT_EQ(oldest.sequence, kRecords - kAuditRecordsKept + 1);
  EXPECT_FALSE(fs::exists(path_ + "/audit/00000000000000000001.jsonl"));
  EXPECT_TRUE(fs::exists(path_ + "/audit/00000000000000010001.jsonl"));
}

TEST_F(DiskFailureTest, FilesAreReadableByTheirOwnerOnly) {
  OpenStore();
  CommitText(*store_, "one");
  ASSERT_EQ(LastGoodFile(*directory_).Save(NextVersion({}, "copy")), std::nullopt);
  for (const auto& entry : fs::recursive_directory_iterator(path_)) {
    EXPECT_EQ(entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all),
              fs::perms::none)
        << entry.path();
  }
}

TEST_F(DiskFailureTest, NodesThatWereNotSeenForLongAreNotListed) {
  OpenStore();
  ASSERT_TRUE(store_->WriteNode({.id = "gone"}));
  clock_.Advance(kNodeListed);
  ASSERT_TRUE(store_->WriteNode({.id = "here"}));
  EXPECT_EQ(store_->ListNodes()->size(), 2U);
  clock_.Advance(Micros(1));
  ASSERT_EQ(store_->ListNodes()->size(), 1U);
  EXPECT_EQ(store_->ListNodes()->front().id, "here");
}

TEST_F(DiskFailureTest, ACommitNotifies) {
  OpenStore();
  int notifications = 0;
  store_->OnNotification([&] { ++notifications; });
  const VersionRef ref = CommitText(*store_, "one");
  EXPECT_EQ(notifications, 1);
  ASSERT_TRUE(store_->Commit(NextVersion(ref, "x"), std::nullopt, {}));
  EXPECT_EQ(notifications, 1);
}

}  // namespace
}  // namespace sluice::control

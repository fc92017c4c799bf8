// Crashes between any two changes of files, and in the middle of any write.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/testing/folder.h"
#include "control/disk/disk_store.h"
#include "control/disk/last_good_file.h"
#include "control/testing/conformance.h"

namespace sluice::control {
namespace {

namespace fs = std::filesystem;
using testing::CommitText;
using testing::FindHistoryProblem;
using testing::NextVersion;

/// Performs a number of changes; of the next one, if it is a write, a part. None afterwards.
class CrashingFiles final : public FileSystem {
 public:
  /// `part`: of the write at which it crashes, 0 to 4 quarters.
  CrashingFiles(std::size_t changes, std::size_t part) : left_(changes), part_(part) {}

  [[nodiscard]] bool crashed() const { return crashed_; }

  std::optional<Error> Write(const std::string& path, std::string_view content) override {
    if (Passes()) return FileSystem::Write(path, content);
    if (std::exchange(in_part_, false)) (void)FileSystem::Write(path, PartOf(content));
    return Crash();
  }
  std::optional<Error> Append(const std::string& path, std::string_view content) override {
    if (Passes()) return FileSystem::Append(path, content);
    if (std::exchange(in_part_, false)) (void)FileSystem::Append(path, PartOf(content));
    return Crash();
  }
  std::optional<Error> Rename(const std::string& from, const std::string& to) override {
    return Passes() ? FileSystem::Rename(from, to) : Crash();
  }
  std::optional<Error> SyncDirectory(const std::string& path) override {
    return Passes() ? FileSystem::SyncDirectory(path) : Crash();
  }
  std::optional<Error> Remove(const std::string& path) override {
    return Passes() ? FileSystem::Remove(path) : Crash();
  }
  std::optional<Error> Truncate(const std::string& path, std::uint64_t size) override {
    return Passes() ? FileSystem::Truncate(path, size) : Crash();
  }

 private:
  bool Passes() {
    if (left_ == 0) {
      in_part_ = !std::exchange(crashed_, true);
      return false;
    }
    --left_;
    return true;
  }
  std::string_view PartOf(std::string_view content) const {
    return content.substr(0, content.size() * part_ / 4);
  }
  std::optional<Error> Crash() {
    in_part_ = false;
    return Error{ErrorCode::kStoreError, "crashed"};
  }

  std::size_t left_;
  const std::size_t part_;
  bool crashed_ = false;
  bool in_part_ = false;  ///< This change is the one at which it crashes.
};

class DiskCrashTest : public ::testing::Test {
 protected:
  struct Opened {
    std::unique_ptr<StateDirectory> directory;
    std::unique_ptr<DiskStore> store;
  };

  Opened Open(FileSystem& files = TheFileSystem()) {
    Opened opened;
    auto directory = StateDirectory::Open(path_, files);
    if (!directory) return opened;
    opened.directory = std::move(*directory);
    auto store = DiskStore::Open(*opened.directory, TheSystemClock());
    if (store) opened.store = std::move(*store);
    return opened;
  }

  void ExpectNoLeftovers() {
    std::size_t versions = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path_)) {
      EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
      if (entry.path().parent_path().filename() == "versions") ++versions;
    }
    EXPECT_EQ(versions, Open().store->ListVersions()->size());
  }

  sluice::testing::Folder folder_;
  const std::string path_ = folder_ / "state";
};

// The crash happens at each change in turn, until the run completes without one. The store then
// opens with the old or the new version; an acknowledged commit is never lost.
TEST_F(DiskCrashTest, ACommitIsWholeOrAbsentAfterACrashAtAnyChange) {
  std::size_t absent = 0;
  std::size_t whole = 0;
  for (std::size_t part = 0; part <= 4; ++part) {
    bool crashed = true;
    for (std::size_t changes = 0; crashed; ++changes) {
      SCOPED_TRACE("crash at change " + std::to_string(changes) + ", part " + std::to_string(part));
      fs::remove_all(path_);
      const VersionRef old = CommitText(*Open().store, "old");
      CrashingFiles files(changes, part);
      bool acknowledged = false;
      const Version next = NextVersion(old, "new");
      if (const Opened crashing = Open(files); crashing.store) {
        const auto result = crashing.store->Commit(next, old, {.action = "rules.commit"});
        acknowledged = result && result->committed;
      }
      crashed = files.crashed();
      {
        const Opened opened = Open();
        ASSERT_TRUE(opened.store);
        const VersionRef current = **opened.store->ReadCurrent();
        EXPECT_TRUE(current == old || current == next.info.ref) << ToText(current.id);
        EXPECT_TRUE(!acknowledged || current == next.info.ref);
        (current == old ? absent : whole) += 1;
        EXPECT_EQ(FindHistoryProblem(*opened.store), "");
        // The log has a record of each commit and no other.
        EXPECT_EQ(opened.store->ReadAudit(0, 10)->size(), current.id.number);
        CommitText(*opened.store, "after");
        EXPECT_EQ(FindHistoryProblem(*opened.store), "");
      }
      ExpectNoLeftovers();
      ASSERT_LT(changes, 100U);
    }
  }
  EXPECT_GT(absent, 5U);
  EXPECT_GT(whole, 5U);
}

TEST_F(DiskCrashTest, TheFirstCommitIsWholeOrAbsentAfterACrashAtAnyChange) {
  bool crashed = true;
  for (std::size_t changes = 0; crashed; ++changes) {
    SCOPED_TRACE("crash at change " + std::to_string(changes));
    fs::remove_all(path_);
    CrashingFiles files(changes, 2);
    if (const Opened crashing = Open(files); crashing.store) {
      (void)crashing.store->Commit(NextVersion({}, "first"), {}, {.action = "rules.commit"});
    }
    crashed = files.crashed();
    const Opened opened = Open();
    ASSERT_TRUE(opened.store);
    EXPECT_EQ(FindHistoryProblem(*opened.store), "");
    CommitText(*opened.store, "after");
    EXPECT_EQ(FindHistoryProblem(*opened.store), "");
    ASSERT_LT(changes, 100U);
  }
}

TEST_F(DiskCrashTest, AnAuditRecordIsWholeOrAbsentAfterACrashAtAnyChange) {
  for (std::size_t part = 0; part <= 4; ++part) {
    bool crashed = true;
    for (std::size_t changes = 0; crashed; ++changes) {
      fs::remove_all(path_);
      ASSERT_TRUE(Open().store->AppendAudit({.action = "first"}));
      CrashingFiles files(changes, part);
      if (const Opened crashing = Open(files); crashing.store) {
        (void)crashing.store->AppendAudit({.action = "second"});
      }
      crashed = files.crashed();
      const Opened opened = Open();
      ASSERT_TRUE(opened.store);
      EXPECT_EQ(FindHistoryProblem(*opened.store), "");
      const auto next = opened.store->AppendAudit({.action = "third"});
      ASSERT_TRUE(next);
      EXPECT_EQ(opened.store->ReadAudit(0, 10)->size(), next->sequence);
      EXPECT_EQ(FindHistoryProblem(*opened.store), "");
      ASSERT_LT(changes, 100U);
    }
  }
}

RecordWrite EntryOf(std::string id, std::string text) {
  return {.kind = RecordKind::kEntry, .id = std::move(id), .text = std::move(text)};
}

TEST_F(DiskCrashTest, AWriteOfRecordsIsWholeOrAbsentAfterACrashAtAnyChange) {
  std::size_t absent = 0;
  std::size_t whole = 0;
  for (std::size_t part = 0; part <= 4; ++part) {
    bool crashed = true;
    for (std::size_t changes = 0; crashed; ++changes) {
      SCOPED_TRACE("crash at change " + std::to_string(changes) + ", part " + std::to_string(part));
      fs::remove_all(path_);
      ASSERT_TRUE(Open().store->WriteRecords(std::vector{EntryOf("a", "old")}, {.action = "1"}));
      CrashingFiles files(changes, part);
      bool acknowledged = false;
      if (const Opened crashing = Open(files); crashing.store) {
        acknowledged = crashing.store
                           ->WriteRecords(std::vector{EntryOf("a", "new"), EntryOf("b", "new")},
                                          {.action = "2"})
                           .ok();
      }
      crashed = files.crashed();
      const Opened opened = Open();
      ASSERT_TRUE(opened.store);
      EXPECT_TRUE(opened.store->repairs().empty());
      const RecordTable table = testing::ReadRecordTable(*opened.store);
      const bool is_new = table.size() == 2;
      EXPECT_EQ(table.Find(RecordKind::kEntry, "a")->text, is_new ? "new" : "old");
      EXPECT_TRUE(!acknowledged || is_new);
      (is_new ? whole : absent) += 1;
      EXPECT_EQ(opened.store->ReadAudit(0, 10)->size(), is_new ? 2U : 1U);
      ASSERT_TRUE(opened.store->WriteRecords(std::vector{EntryOf("c", "1")}, {.action = "3"}));
      CommitText(*opened.store, "rules");
      EXPECT_EQ(FindHistoryProblem(*opened.store), "");
      ASSERT_LT(changes, 100U);
    }
  }
  EXPECT_GT(absent, 2U);
  EXPECT_GT(whole, 2U);
}

TEST_F(DiskCrashTest, ARestoreOfRecordsIsWholeOrAbsentAfterACrashAtAnyChange) {
  bool crashed = true;
  for (std::size_t changes = 0; crashed; ++changes) {
    fs::remove_all(path_);
    ASSERT_TRUE(Open().store->WriteRecords(std::vector{EntryOf("a", "old")}, {.action = "1"}));
    CrashingFiles files(changes, 2);
    if (const Opened crashing = Open(files); crashing.store) {
      std::vector<Record> records = testing::ReadRecordTable(*crashing.store).List();
      records.front().text = "new";
      (void)crashing.store->RestoreRecords(records, crashing.store->ReadHead()->records,
                                           {.epoch = 2, .sequence = 5}, {.action = "2"});
    }
    crashed = files.crashed();
    const Opened opened = Open();
    ASSERT_TRUE(opened.store);
    const RecordTable table = testing::ReadRecordTable(*opened.store);
    const bool is_new = table.cursor().epoch == 2;
    EXPECT_EQ(table.Find(RecordKind::kEntry, "a")->text, is_new ? "new" : "old");
    EXPECT_EQ(opened.store->ReadAudit(0, 10)->size(), is_new ? 2U : 1U);
    EXPECT_EQ(FindHistoryProblem(*opened.store), "");
    ASSERT_LT(changes, 100U);
  }
}

TEST_F(DiskCrashTest, ALongFileIsShortenedAndACrashMeanwhileLosesNothing) {
  const std::string text(4000, 'x');
  bool crashed = true;
  for (std::size_t changes = 0; crashed; changes += 41) {
    fs::remove_all(path_);
    CrashingFiles files(changes, 2);
    std::uint64_t acknowledged = 0;
    if (const Opened crashing = Open(files); crashing.store) {
      for (int i = 0; i < 300; ++i) {
        const auto result = crashing.store->WriteRecords(
            std::vector{EntryOf("a" + std::to_string(i % 3), text + std::to_string(i))}, {});
        if (!result) break;
        acknowledged = result->cursor.sequence;
      }
    }
    crashed = files.crashed();
    const Opened opened = Open();
    ASSERT_TRUE(opened.store);
    const RecordTable table = testing::ReadRecordTable(*opened.store);
    EXPECT_GE(table.cursor().sequence, acknowledged);
    EXPECT_LE(table.cursor().sequence, acknowledged + 1);
    EXPECT_EQ(FindHistoryProblem(*opened.store), "");
    if (!crashed) {
      EXPECT_LT(fs::file_size(path_ + "/records"), 1'200'000U);
    }
    if (changes > 600) changes += 100;
  }
}

TEST_F(DiskCrashTest, TheLastGoodCopyIsTheOldOrTheNewOneAfterACrashAtAnyChange) {
  bool crashed = true;
  for (std::size_t changes = 0; crashed; ++changes) {
    fs::remove_all(path_);
    const Version old = NextVersion({}, "old");
    const Version next = NextVersion(old.info.ref, "new");
    {
      const Opened opened = Open();
      ASSERT_EQ(LastGoodFile(*opened.directory).Save(old), std::nullopt);
    }
    CrashingFiles files(changes, 2);
    if (const Opened crashing = Open(files); crashing.directory) {
      (void)LastGoodFile(*crashing.directory).Save(next);
    }
    crashed = files.crashed();
    const Opened opened = Open();
    const auto loaded = LastGoodFile(*opened.directory).Load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_TRUE(*loaded);
    EXPECT_TRUE((*loaded)->text == old.text || (*loaded)->text == next.text);
    ASSERT_LT(changes, 100U);
  }
}

}  // namespace
}  // namespace sluice::control

#include "control/disk/state_directory.h"

#include <filesystem>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/testing/folder.h"
#include "control/disk/last_good_file.h"

namespace sluice::control {
namespace {

namespace fs = std::filesystem;
using sluice::testing::WriteInPlace;
using ::testing::HasSubstr;

TEST(StateDirectory, IsOfOneProcess) {
  const sluice::testing::Folder folder;
  auto first = StateDirectory::Open(folder / "state");
  ASSERT_TRUE(first) << first.error().message;
  const auto second = StateDirectory::Open(folder / "state");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kStoreError);
  EXPECT_EQ(second.error().message, (folder / "state") + ": state directory is in use by process " +
                                        std::to_string(::getpid()) +
                                        "; each process needs a directory of its own");
  first->reset();
  EXPECT_TRUE(StateDirectory::Open(folder / "state"));
}

TEST(StateDirectory, ThatCannotBeMadeIsAnErrorThatNamesIt) {
  const sluice::testing::Folder folder;
  const auto no_parent = StateDirectory::Open(folder / "a/b");
  ASSERT_FALSE(no_parent);
  EXPECT_EQ(no_parent.error().message,
            (folder / "a/b") + ": mkdir failed: No such file or directory");
  WriteInPlace(folder / "file", "");
  const auto file = StateDirectory::Open(folder / "file");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, (folder / "file") + ": not a directory");
}

TEST(StateDirectory, ThatCannotBeWrittenIsAnErrorThatNamesIt) {
  const auto directory = StateDirectory::Open("/proc/self");
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, ErrorCode::kStoreError);
  EXPECT_THAT(directory.error().message, HasSubstr("/proc/self/lock: open failed: "));
}

TEST(StateDirectory, ALockThatIsALinkIsNotWrittenThrough) {
  const sluice::testing::Folder folder;
  WriteInPlace(folder / "other", "other content");
  fs::create_directory(folder / "state");
  fs::create_symlink(folder / "other", folder / "state/lock");
  const auto directory = StateDirectory::Open(folder / "state");
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, HasSubstr("state/lock: open failed: "));
  EXPECT_EQ(fs::file_size(folder / "other"), 13U);
}

TEST(StateDirectory, TemporaryFilesAreRemovedWhenItIsOpened) {
  const sluice::testing::Folder folder;
  fs::create_directory(folder / "state");
  WriteInPlace(folder / "state/current.tmp", "half");
  ASSERT_TRUE(StateDirectory::Open(folder / "state"));
  EXPECT_FALSE(fs::exists(folder / "state/current.tmp"));
}

TEST(LastGoodFile, HasTheVersionThatWasSavedLast) {
  const sluice::testing::Folder folder;
  const auto directory = std::move(StateDirectory::Open(folder / "state").value());
  LastGoodFile copy(*directory);
  EXPECT_EQ(*copy.Load(), std::nullopt);
  for (const char* text : {"one", "two"}) {
    const Version version = MakeVersion({.epoch = 1, .number = 1}, text);
    ASSERT_EQ(copy.Save(version), std::nullopt);
    EXPECT_EQ((*copy.Load())->text, text);
    EXPECT_EQ((*copy.Load())->info.ref, version.info.ref);
  }
  WriteInPlace(folder / "state/last-good", "damaged");
  const auto damaged = copy.Load();
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, HasSubstr((folder / "state/last-good") + ": "));
}

}  // namespace
}  // namespace sluice::control

// One process that restarts with its state directory.

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/testing/folder.h"
#include "control/disk/disk_store.h"
#include "control/disk/last_good_file.h"
#include "control/follower.h"
#include "control/testing/conformance.h"

namespace sluice::control {
namespace {

namespace fs = std::filesystem;

/// A server process as far as its rules go.
class Process {
 public:
  explicit Process(const std::string& state, std::optional<std::string> seed = {})
      : directory_(std::move(StateDirectory::Open(state).value())),
        copy_(*directory_),
        store_(std::move(DiskStore::Open(*directory_, TheSystemClock()).value())),
        follower_(*store_, &copy_, {.node = {.id = "a"}, .seed = std::move(seed)},
                  {.activate =
                       [this](const Version& version) {
                         const std::lock_guard lock(mutex_);
                         rules_ = version.text;
                         return LoadReport{.activated = true};
                       }}),
        started_(follower_.Start()) {}
  ~Process() { follower_.Stop(); }

  [[nodiscard]] std::string rules() {
    const std::lock_guard lock(mutex_);
    return rules_;
  }
  [[nodiscard]] ControlStore& store() { return *store_; }
  [[nodiscard]] const SyncStats& started() const { return started_; }

 private:
  std::mutex mutex_;
  std::string rules_;
  std::unique_ptr<StateDirectory> directory_;
  LastGoodFile copy_;
  std::unique_ptr<DiskStore> store_;
  Follower follower_;
  const SyncStats started_;
};

TEST(DiskFollower, ARestartGoesOnWithTheCurrentVersionAndIgnoresTheSeed) {
  const sluice::testing::Folder folder;
  {
    Process process(folder / "state", "seed");
    EXPECT_EQ(process.rules(), "seed");
    testing::CommitText(process.store(), "edited");
  }
  Process process(folder / "state", "seed");
  EXPECT_EQ(process.rules(), "edited");
  EXPECT_EQ(process.started().active.id, (VersionId{.epoch = 1, .number = 2}));
}

TEST(DiskFollower, ADamagedVersionIsReplacedByTheLastGoodCopy) {
  const sluice::testing::Folder folder;
  {
    const Process process(folder / "state", "seed");
  }
  sluice::testing::WriteInPlace(folder / "state/versions/1.1", "damaged");
  Process process(folder / "state");
  EXPECT_EQ(process.rules(), "seed");
  EXPECT_EQ(process.started().origin, RulesOrigin::kLastGood);
}

TEST(DiskFollower, VersionsThatWereRemovedAreRestoredFromTheLastGoodCopy) {
  const sluice::testing::Folder folder;
  {
    const Process process(folder / "state", "seed");
  }
  fs::remove_all(folder / "state/versions");
  fs::remove(folder / "state/current");
  Process process(folder / "state", "another seed");
  EXPECT_EQ(process.rules(), "seed");
}

}  // namespace
}  // namespace sluice::control

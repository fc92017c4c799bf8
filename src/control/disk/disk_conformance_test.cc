#include <filesystem>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/testing/folder.h"
#include "control/disk/disk_store.h"
#include "control/disk/lazy_disk_store.h"
#include "control/testing/conformance.h"

namespace sluice::control {
namespace {

using testing::ConformanceCase;

/// One process, all of whose threads share the store.
class DiskStores final : public testing::ControlStores {
 public:
  DiskStores() { Open(); }

  ControlStore& client(std::size_t /*index*/) override { return *store_; }
  void Reopen() override {
    store_.reset();
    directory_.reset();
    Open();
  }

 private:
  void Open() {
    directory_ = std::move(StateDirectory::Open(folder_ / "state").value());
    store_ = std::move(DiskStore::Open(*directory_, TheSystemClock()).value());
  }

  sluice::testing::Folder folder_;
  std::unique_ptr<StateDirectory> directory_;
  std::unique_ptr<DiskStore> store_;
};

class DiskStoreConforms : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(DiskStoreConforms, To) {
  DiskStores stores;
  GetParam().run(stores);
}

INSTANTIATE_TEST_SUITE_P(All, DiskStoreConforms, ::testing::ValuesIn(testing::ConformanceCases()),
                         testing::NameOfCase);

/// One process whose directory is created by the first write.
class LazyDiskStores final : public testing::ControlStores {
 public:
  LazyDiskStores() { Reopen(); }

  ControlStore& client(std::size_t /*index*/) override { return *store_; }
  void Reopen() override {
    store_.reset();
    directory_.reset();
    directory_ = std::make_unique<LazyStateDirectory>(folder_ / "state");
    store_ = std::make_unique<LazyDiskStore>(*directory_, TheSystemClock());
  }
  [[nodiscard]] bool has_directory() const { return std::filesystem::exists(folder_ / "state"); }

 private:
  sluice::testing::Folder folder_;
  std::unique_ptr<LazyStateDirectory> directory_;
  std::unique_ptr<LazyDiskStore> store_;
};

TEST(LazyDiskStoreConforms, ToAllCasesThatAreNotHeavy) {
  for (const ConformanceCase& conformance : testing::ConformanceCases()) {
    SCOPED_TRACE(conformance.name);
    if (conformance.is_heavy) continue;
    LazyDiskStores stores;
    EXPECT_FALSE(stores.has_directory());
    conformance.run(stores);
  }
}

TEST(LazyDiskStore, ReadsNodesAndReportsDoNotCreateTheDirectory) {
  LazyDiskStores stores;
  ControlStore& store = stores.client(0);
  EXPECT_TRUE(store.ReadHead());
  EXPECT_TRUE(store.ReadRecords({}, 10));
  EXPECT_TRUE(store.ReadAudit(0, 10));
  EXPECT_TRUE(store.WriteNode({.id = "a"}));
  EXPECT_TRUE(store.WriteNodeReport("top", {.node = "a", .text = "1"}, std::chrono::hours(1)));
  EXPECT_EQ(store.ListNodes()->size(), 1U);
  EXPECT_FALSE(stores.has_directory());
  EXPECT_TRUE(store.AppendAudit({.action = "log_level.set"}));
  EXPECT_TRUE(stores.has_directory());
}

}  // namespace
}  // namespace sluice::control

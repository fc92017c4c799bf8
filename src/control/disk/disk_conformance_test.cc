#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/testing/folder.h"
#include "control/disk/disk_store.h"
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

}  // namespace
}  // namespace sluice::control

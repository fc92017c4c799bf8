#include "control/testing/fake_control_store.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "control/testing/conformance.h"

namespace sluice::control {
namespace {

class FakeStores final : public testing::ControlStores {
 public:
  ControlStore& client(std::size_t /*index*/) override { return store_; }
  void Reopen() override {}

 private:
  testing::FakeControlStore store_{TheSystemClock()};
};

class FakeControlStoreConforms : public ::testing::TestWithParam<testing::ConformanceCase> {};

TEST_P(FakeControlStoreConforms, To) {
  FakeStores stores;
  GetParam().run(stores);
}

INSTANTIATE_TEST_SUITE_P(All, FakeControlStoreConforms,
                         ::testing::ValuesIn(testing::ConformanceCases()), testing::NameOfCase);

}  // namespace
}  // namespace sluice::control

#include "store/testing/model_store.h"

#include <gtest/gtest.h>

#include "store/testing/conformance.h"

namespace sluice::store::testing {
namespace {

class ModelDriver final : public Driver {
 public:
  Store& store() override { return model_; }

 private:
  ModelStore model_;
};

/// Who judges the judge: the cases that were written by hand.
class ModelConforms : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(ModelConforms, To) {
  ModelDriver driver;
  GetParam().run(driver);
}

INSTANTIATE_TEST_SUITE_P(All, ModelConforms, ::testing::ValuesIn(ConformanceCases()), NameOfCase);

}  // namespace
}  // namespace sluice::store::testing

#pragma once

#include <ostream>
#include <span>
#include <string>

#include "store/testing/driver.h"

namespace sluice::store::testing {

/// One sentence about every store, and the proof.
struct ConformanceCase {
  const char* name;
  void (*run)(Driver& driver);

  friend void PrintTo(const ConformanceCase& c, std::ostream* out) { *out << c.name; }
};

/// Tests of the behavior that every store must have. A store's test runs them all:
///
///     class MyStoreConforms : public ::testing::TestWithParam<ConformanceCase> {};
///     TEST_P(MyStoreConforms, To) { MyDriver driver; GetParam().run(driver); }
///     INSTANTIATE_TEST_SUITE_P(All, MyStoreConforms, ::testing::ValuesIn(ConformanceCases()),
///                              NameOfCase);
///
/// A case uses keys of its own: all may run against one store.
std::span<const ConformanceCase> ConformanceCases();

/// Names the tests that are made of the cases.
// NOLINTNEXTLINE(readability-identifier-naming): a function in all but form, for GoogleTest's sake.
inline constexpr auto NameOfCase = [](const auto& info) { return std::string(info.param.name); };

}  // namespace sluice::store::testing

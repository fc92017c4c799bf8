#include "base/testing/allocations.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(AllocationsTest, AreCounted) {
#ifdef SLUICE_SANITIZED
  GTEST_SKIP() << "sanitizers have operators of their own";
#endif
  const std::size_t before = Allocations();
  const std::string text(100, 'x');
  EXPECT_GT(Allocations() - before, 0U) << text;
}

}  // namespace
}  // namespace sluice

#include "wire/http_date.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace sluice::wire {
namespace {

WallTime At(std::int64_t seconds, std::int64_t micros = 0) {
  return WallTime(std::chrono::seconds(seconds) + Micros(micros));
}

TEST(HttpDate, IsFormattedAsInTheStandard) {
  HttpDate date;
  EXPECT_EQ(date.At(At(784111777)), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(date.At(At(0)), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(date.At(At(951827696)), "Tue, 29 Feb 2000 12:34:56 GMT");
  EXPECT_EQ(date.At(At(1798761599)), "Thu, 31 Dec 2026 23:59:59 GMT");
}

TEST(HttpDate, ChangesWithTheSecondAndNotBefore) {
  HttpDate date;
  EXPECT_EQ(date.At(At(784111777, 1)), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(date.At(At(784111777, 999999)), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(date.At(At(784111778)), "Sun, 06 Nov 1994 08:49:38 GMT");
  EXPECT_EQ(date.At(At(784111777)), "Sun, 06 Nov 1994 08:49:37 GMT") << "the clock was set back";
}

}  // namespace
}  // namespace sluice::wire

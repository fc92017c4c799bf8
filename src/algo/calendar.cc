#include "algo/calendar.h"

#include <algorithm>

namespace sluice::algo {
namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::weeks;
using std::chrono::year_month_day;

// The first Monday after the epoch, which is a Thursday.
constexpr sys_days kFirstMonday{days{4}};

}  // namespace

WallTime CalendarStart(Anchor anchor, WallTime t) {
  const sys_days day = std::chrono::floor<days>(t);
  const year_month_day date{day};
  sys_days start = day;
  switch (anchor) {
    case Anchor::kWeek:
      start = kFirstMonday + std::chrono::floor<weeks>(day - kFirstMonday);
      break;
    case Anchor::kMonth:
      start = date.year() / date.month() / 1;
      break;
    case Anchor::kYear:
      start = date.year() / 1 / 1;
      break;
    default:
      break;
  }
  return std::max(WallTime{start}, WallTime{});
}

WallTime CalendarEnd(Anchor anchor, WallTime t) {
  const sys_days day = std::chrono::floor<days>(t);
  const year_month_day date{day};
  switch (anchor) {
    case Anchor::kWeek:
      return kFirstMonday + std::chrono::floor<weeks>(day - kFirstMonday) + weeks{1};
    case Anchor::kMonth:
      return sys_days{(date.year() / date.month() + std::chrono::months{1}) / 1};
    case Anchor::kYear:
      return sys_days{(date.year() + std::chrono::years{1}) / 1 / 1};
    default:
      return day + days{1};
  }
}

}  // namespace sluice::algo

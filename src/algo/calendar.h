#pragma once

#include <sluice/limit.h>
#include <sluice/time.h>

namespace sluice::algo {

/// Returns the last boundary of a calendar anchor (day, week, month, year) at or before `t`, in UTC
/// and not before the epoch.
WallTime CalendarStart(Anchor anchor, WallTime t);

/// Returns the first boundary after `t`.
WallTime CalendarEnd(Anchor anchor, WallTime t);

}  // namespace sluice::algo

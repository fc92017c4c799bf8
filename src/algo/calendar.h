#pragma once

#include <sluice/limit.h>
#include <sluice/time.h>

namespace sluice::algo {

/// The last boundary at or before `t` of a calendar anchor (day, week, month, year), in UTC, but
/// not before the epoch.
WallTime CalendarStart(Anchor anchor, WallTime t);

/// The first boundary after `t`.
WallTime CalendarEnd(Anchor anchor, WallTime t);

}  // namespace sluice::algo

#pragma once

#include <sluice/time.h>

#include "config_text/position.h"

namespace sluice::rules {

/// The time in which a rule or a limit applies: from `starts_at` until before `expires_at`.
struct Schedule {
  WallTime starts_at = WallTime::min();
  WallTime expires_at = WallTime::max();
  config_text::Position expiry_position{};  ///< Position of `expires_at` in the file.

  /// True if unbounded.
  [[nodiscard]] bool always() const {
    return starts_at == WallTime::min() && expires_at == WallTime::max();
  }
  [[nodiscard]] bool Contains(WallTime now) const { return starts_at <= now && now < expires_at; }
};

}  // namespace sluice::rules

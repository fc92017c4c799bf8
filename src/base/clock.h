#pragma once

#include <sluice/time.h>

namespace sluice {

/// The system's wall clock, in whole microseconds. The only place that reads it.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] WallTime Now() const noexcept override;
};

/// One for everybody.
const SystemClock& TheSystemClock();

}  // namespace sluice

#include "wire/http2_guard.h"

#include <algorithm>

namespace sluice::wire {

void Http2Guard::Passed(Micros time) {
  // By then everything is full.
  constexpr Micros kLong = std::chrono::hours(1);
  const std::int64_t micros = std::clamp(time, Micros{0}, kLong).count();
  for (std::size_t i = 0; i < kBounds.size(); ++i) Add(i, kBounds[i].per_second * micros);
}

}  // namespace sluice::wire

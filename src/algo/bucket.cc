#include "algo/bucket.h"

namespace sluice::algo::bucket {

Micros Operations::RefillTime(const LimitNumbers& limit) {
  State state = bucket::Fresh(limit, WallTime{});
  bucket::Take(limit, state, limit.cap);
  return WaitUntil(WallTime{}, bucket::FreshAt(limit, state));
}

void Operations::Adjust(const LimitNumbers& limit, State& state, WallTime /*at*/,
                        std::int64_t delta) {
  if (delta >= 0) return bucket::Take(limit, state, delta);
  const std::int64_t room = Full(limit) - state.value;
  state.value =
      -delta <= room / limit.rate_den ? state.value - delta * limit.rate_den : Full(limit);
}

ClockSeen Operations::Convert(const LimitNumbers& from, const LimitNumbers& to, WallTime /*now*/,
                              State& state) {
  const Wide scaled = Wide{state.value} * to.rate_den;
  Wide level = scaled / from.rate_den;
  if (scaled % from.rate_den < 0) --level;
  state.value = static_cast<std::int64_t>(std::clamp(level, Wide{kLowest}, Wide{Full(to)}));
  return ClockSeen::kForward;
}

}  // namespace sluice::algo::bucket

#include "algo/bucket.h"

namespace sluice::algo::bucket {

void Convert(const LimitNumbers& from, const LimitNumbers& to, State& state) {
  const Wide scaled = Wide{state.value} * to.rate_den;
  Wide level = scaled / from.rate_den;
  if (scaled % from.rate_den < 0) --level;
  state.value = static_cast<std::int64_t>(std::clamp(level, Wide{kLowest}, Wide{Full(to)}));
}

}  // namespace sluice::algo::bucket

#include "api/http/options.h"

#include "algo/algorithm_info.h"

namespace sluice::api {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kUsual = 100;
constexpr std::int64_t kUsualPerSecond = 10;
constexpr Micros kUsualWindow = seconds(60);

}  // namespace

DefaultLimits::DefaultLimits() {
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    LimitNumbers numbers{.algorithm = static_cast<Algorithm>(i), .cap = kUsual};
    if (algo::HasSlots(numbers.algorithm)) continue;
    if (algo::IsBucket(numbers.algorithm)) {
      numbers.rate_num = kUsualPerSecond;
      numbers.rate_den = Micros{seconds(1)}.count();
    } else {
      numbers.window = kUsualWindow;
    }
    limits_[i] = *Limit::FromNumbers(numbers);
  }
}

const Limit* DefaultLimits::Find(Algorithm algorithm) const {
  const auto& limit = limits_[static_cast<std::size_t>(algorithm)];
  return limit ? &*limit : nullptr;
}

}  // namespace sluice::api

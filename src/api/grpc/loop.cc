#include "api/grpc/loop.h"

namespace sluice::api {

Micros GrpcLoop::NextAge() {
  // Steps by the golden ratio fall evenly, however many there are.
  constexpr std::uint32_t kGolden = 0x9E3779B9;
  ages_ += kGolden;
  const std::int64_t tenths = options_.max_connection_age.count() / 10;
  return options_.max_connection_age - Micros(tenths) +
         Micros(2 * tenths * static_cast<std::int64_t>(ages_ >> 16) / (1 << 16));
}

}  // namespace sluice::api

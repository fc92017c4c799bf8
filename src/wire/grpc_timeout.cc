#include "wire/grpc_timeout.h"

#include <cstddef>
#include <cstdint>

#include "base/parse_number.h"

namespace sluice::wire {

std::optional<Micros> ParseGrpcTimeout(std::string_view text) {
  constexpr std::size_t kMostDigits = 8;
  if (text.size() < 2 || text.size() > kMostDigits + 1) return std::nullopt;
  const auto parsed = ParseNumber<std::uint32_t>(text.substr(0, text.size() - 1));
  if (!parsed) return std::nullopt;
  const std::int64_t number = *parsed;
  switch (text.back()) {
    case 'H':
      return std::chrono::hours(number);
    case 'M':
      return std::chrono::minutes(number);
    case 'S':
      return std::chrono::seconds(number);
    case 'm':
      return std::chrono::milliseconds(number);
    case 'u':
      return Micros(number);
    case 'n':
      return Micros((number + 999) / 1000);
    default:
      return std::nullopt;
  }
}

}  // namespace sluice::wire

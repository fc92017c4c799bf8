#include "wire/grpc_timeout.h"

#include <cstddef>
#include <cstdint>

namespace sluice::wire {

std::optional<Micros> ParseGrpcTimeout(std::string_view text) {
  constexpr std::size_t kMostDigits = 8;
  if (text.size() < 2 || text.size() > kMostDigits + 1) return std::nullopt;
  std::int64_t number = 0;
  for (const char digit : text.substr(0, text.size() - 1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + (digit - '0');
  }
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

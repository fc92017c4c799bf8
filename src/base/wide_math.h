#pragma once

#include <cstdint>

namespace sluice {

/// For products of two 64-bit numbers.
__extension__ using Wide = __int128;

/// ⌈a / b⌉ for a ≥ 0, b > 0.
constexpr std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

/// ⌊a / b⌋ for b > 0.
constexpr std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

/// ⌊a · b / c⌋ for a, b ≥ 0, c > 0, where the result fits.
constexpr std::int64_t MulDivFloor(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<std::int64_t>(Wide{a} * b / c);
}

/// ⌈a · b / c⌉ for a, b ≥ 0, c > 0, where the result fits.
constexpr std::int64_t MulDivCeil(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<std::int64_t>((Wide{a} * b + c - 1) / c);
}

}  // namespace sluice

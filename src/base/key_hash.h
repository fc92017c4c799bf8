#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/key.h"

namespace sluice {

/// 122 bits that stand for a key.
struct KeyHash {
  std::uint64_t high;  ///< 61 bits
  std::uint64_t low;   ///< 61 bits

  friend bool operator==(const KeyHash&, const KeyHash&) = default;
};

/// Hashes keys under a secret, so that nobody can choose keys that collide.
///
/// A key is a list of 56-bit blocks, read as the coefficients of a polynomial, which is evaluated
/// at two secret points modulo 2^61 − 1. Two different keys of n blocks agree at a random point
/// with a probability of at most n / 2^61, so at both with (n / 2^61)²: below 2^-100 for keys of up
/// to 14 000 bytes, which is more than a key may have. A fixed permutation spreads the result, also
/// for keys that count up.
///
/// Thread-safe.
class KeyHasher {
 public:
  /// With a new random secret.
  KeyHasher();

  [[nodiscard]] KeyHash operator()(const Key& key) const;

 private:
  static constexpr std::size_t kLanes = 2;
  static constexpr std::size_t kPowers = 16;
  using Lanes = std::array<std::uint64_t, kLanes>;

  /// Σ block_i · point^(i+1) in both lanes; of at most kPowers blocks without reducing in between.
  [[nodiscard]] Lanes SumOfShort(const Key& key) const;
  [[nodiscard]] Lanes SumOfAny(const Key& key) const;

  /// powers_[i] are the lanes' secret points to the power of i + 1.
  std::array<Lanes, kPowers> powers_;
};

}  // namespace sluice

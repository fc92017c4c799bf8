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

/// Hashes keys under a secret, so that clients can't choose keys that collide or crowd together.
///
/// Where the processor has instructions for AES, a key is the message of a CBC-MAC: its blocks, the
/// lengths of its parts first, are encrypted one into the next, and different keys agree with a
/// probability of about 2^-122. Elsewhere the blocks are the coefficients of a polynomial that is
/// evaluated at two secret points modulo 2^61 − 1: two keys of n blocks agree with a probability of
/// at most (n / 2^61)², below 2^-100 for keys of up to 14 000 bytes, which is more than a key may
/// have.
///
/// Thread-safe.
class KeyHasher {
 public:
  enum class Method : std::uint8_t { kFastest, kPortable };

  /// With a new random secret.
  explicit KeyHasher(Method method = Method::kFastest);

  [[nodiscard]] KeyHash operator()(const Key& key) const {
    return use_aes_ ? ByAes(key) : ByPolynomial(key);
  }

 private:
  static constexpr std::size_t kLanes = 2;
  static constexpr std::size_t kPowers = 16;
  static constexpr std::size_t kRounds = 10;
  using Lanes = std::array<std::uint64_t, kLanes>;

  [[nodiscard]] KeyHash ByAes(const Key& key) const;
  [[nodiscard]] KeyHash ByPolynomial(const Key& key) const;
  /// Σ block_i · point^(i+1) in both lanes; of at most kPowers blocks without reducing in between.
  [[nodiscard]] Lanes SumOfShort(const Key& key) const;
  [[nodiscard]] Lanes SumOfAny(const Key& key) const;

  bool use_aes_;
  /// Independent of each other: no key schedule is needed.
  alignas(16) std::array<Lanes, kRounds + 1> round_keys_;
  /// powers_[i] are the lanes' secret points to the power of i + 1.
  std::array<Lanes, kPowers> powers_;
};

}  // namespace sluice

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/key.h"

namespace sluice {

/// A 122-bit fingerprint of a key.
struct KeyHash {
  std::uint64_t high;  ///< 61 bits
  std::uint64_t low;   ///< 61 bits

  friend bool operator==(const KeyHash&, const KeyHash&) = default;
};

/// Hashes keys with a secret, so that clients can't choose keys that collide or cluster.
///
/// With AES instructions, the hash is a CBC-MAC over the key's parts. The last block of each part
/// is masked with a secret of its own, which depends on the part and on whether the block is full
/// (as in XCBC), so that parts can't run into each other and no block holds their lengths.
/// Different keys collide with a probability of about 2^-122. Otherwise the lengths and the blocks
/// are the coefficients of a polynomial, evaluated at two secret points modulo 2^61 − 1: two keys
/// of n blocks collide with a probability of at most (n / 2^61)², below 2^-100 for keys up to 14
/// 000 bytes, which is above the maximum length.
///
/// Thread-safe.
class KeyHasher {
 public:
  enum class Method : std::uint8_t {
    kFastest,
    /// The same with fewer rounds of AES, for hashes that are never shown. Two keys collide with a
    /// probability of about 2^-107.
    kHidden,
    kPortable
  };

  /// Generates a random secret.
  explicit KeyHasher(Method method = Method::kFastest);

  [[nodiscard]] KeyHash operator()(const Key& key) const {
    return use_aes_ ? ByAes(key) : ByPolynomial(key);
  }

  /// The state of a hash after a key's scope: hashes keys with that scope faster.
  using Prefix = std::array<std::uint64_t, 2>;
  [[nodiscard]] Prefix HashScope(std::string_view scope) const;
  /// Returns the hash of the key. Precondition: `prefix` is HashScope(key.scope).
  [[nodiscard]] KeyHash operator()(const Prefix& prefix, const Key& key) const {
    return use_aes_ ? ByAesAfter(prefix, key) : ByPolynomial(key);
  }

  /// Returns whether HashHidden (key_hash_aes.h) gives the same hash: Method::kHidden with AES
  /// instructions.
  [[nodiscard]] bool is_hidden_aes() const { return use_aes_ && hidden_; }
  [[nodiscard]] KeyHash HashHidden(const Prefix& prefix, const Key& key) const;

 private:
  static constexpr std::size_t kLanes = 2;
  static constexpr std::size_t kPowers = 16;
  static constexpr std::size_t kRounds = 10;
  static constexpr std::size_t kHiddenRounds = 5;
  using Lanes = std::array<std::uint64_t, kLanes>;

  [[nodiscard]] KeyHash ByAes(const Key& key) const;
  [[nodiscard]] KeyHash ByAesAfter(const Prefix& prefix, const Key& key) const;
  [[nodiscard]] KeyHash ByPolynomial(const Key& key) const;
  /// Σ block_i · point^(i+1) in both lanes; at most kPowers blocks, without intermediate
  /// reductions.
  [[nodiscard]] Lanes SumOfShort(const Key& key) const;
  [[nodiscard]] Lanes SumOfAny(const Key& key) const;

  template <std::size_t rounds>
  [[nodiscard]] KeyHash ByAesIn(const Prefix& prefix, const Key& key) const;

  bool use_aes_;
  bool hidden_;  ///< Use kHiddenRounds.
  /// Independent random keys, instead of a key schedule.
  alignas(16) std::array<Lanes, kRounds + 1> round_keys_;
  /// Masks of the last block of each part: two of the scope (a full and a short block), two of the
  /// tag, two of the rest.
  alignas(16) std::array<Lanes, 6> part_masks_;
  /// powers_[i] is each lane's secret point to the power of i + 1.
  std::array<Lanes, kPowers> powers_;
};

}  // namespace sluice

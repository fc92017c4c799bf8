#include "base/key_hash.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/key_hash_aes.h"
#include "base/random.h"

namespace sluice {

using key_hash::Load;
using key_hash::LoadShort;

namespace {

__extension__ using UWide = unsigned __int128;

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
constexpr std::size_t kBlockBytes = 7;
constexpr std::uint64_t kBlockMask = (std::uint64_t{1} << 56) - 1;

// For x below 2^125, which a sum of 16 products of a block and a power is.
constexpr std::uint64_t Modulo(UWide x) {
  const auto low = static_cast<std::uint64_t>(x) & kPrime;
  const auto high = static_cast<std::uint64_t>(x >> 61);
  const std::uint64_t folded = low + (high & kPrime) + (high >> 61);
  const std::uint64_t once = (folded >> 61) + (folded & kPrime);
  return once >= kPrime ? once - kPrime : once;
}

// A non-linear permutation of 61-bit numbers: without it, sequential keys would cluster in the
// table under some secrets.
constexpr std::uint64_t Scrambled(std::uint64_t x) {
  x ^= x >> 31;
  x = x * 0x9FB21C651E98DF25U & kPrime;
  x ^= x >> 29;
  x = x * 0xD6E8FEB86659FD93U & kPrime;
  return x ^ x >> 32;
}

bool ProcessorHasAes() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1");
#else
  return false;
#endif
}

std::uint64_t RandomResidue() {
  for (;;) {
    const std::uint64_t candidate = RandomId() >> 3;
    if (candidate != 0 && candidate < kPrime) return candidate;
  }
}

// Calls `add` with each block of the string. The last one may be short; the string's length, which
// is hashed too, distinguishes it from one with zeros at the end.
template <typename Add>
inline void ForEachBlock(std::string_view part, const Add& add) {
  std::size_t left = part.size();
  if (left == 0) return;
  const char* at = part.data();
  if (left <= kBlockBytes) return add(LoadShort(at, left));
  // Whole words are read: there is one byte more than a block, or, for the last, enough before it.
  for (; left > kBlockBytes; at += kBlockBytes, left -= kBlockBytes) {
    add(Load<std::uint64_t>(at) & kBlockMask);
  }
  add(Load<std::uint64_t>(at + left - 8) >> (8 * (8 - left)));
}

// 16 bits of the scope's length, 20 of the others', which are at most 4096. They are hashed first,
// so that the parts can't run into each other.
constexpr std::uint64_t LengthsOf(const Key& key) {
  return (key.scope.size() & 0xFFFF) | (key.tag.size() & 0xFFFFF) << 16 |
         (key.rest.size() & 0xFFFFF) << 36;
}

template <typename Add>
inline void ForEachBlock(const Key& key, const Add& add) {
  add(LengthsOf(key));
  ForEachBlock(key.scope, add);
  ForEachBlock(key.tag, add);
  ForEachBlock(key.rest, add);
}

}  // namespace

KeyHasher::Lanes KeyHasher::SumOfShort(const Key& key) const {
  const Lanes* power = powers_.data();
  UWide lane0 = 0;
  UWide lane1 = 0;
  ForEachBlock(key, [&](std::uint64_t block) {
    lane0 += UWide{block} * (*power)[0];
    lane1 += UWide{block} * (*power)[1];
    ++power;
  });
  return {Modulo(lane0), Modulo(lane1)};
}

KeyHasher::Lanes KeyHasher::SumOfAny(const Key& key) const {
  const Lanes& point = powers_[0];
  Lanes power{1, 1};
  Lanes total{};
  ForEachBlock(key, [&](std::uint64_t block) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      power[lane] = Modulo(UWide{power[lane]} * point[lane]);
      total[lane] = Modulo(UWide{block} * power[lane] + total[lane]);
    }
  });
  return total;
}

KeyHasher::KeyHasher(Method method)
    : use_aes_(method != Method::kPortable && ProcessorHasAes()),
      hidden_(method == Method::kHidden) {
  FillRandom(std::as_writable_bytes(std::span(round_keys_)));
  FillRandom(std::as_writable_bytes(std::span(part_masks_)));
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t point = RandomResidue();
    std::uint64_t power = 1;
    for (auto& row : powers_) {
      power = Modulo(UWide{power} * point);
      row[lane] = power;
    }
  }
}

KeyHash KeyHasher::ByPolynomial(const Key& key) const {
  // At most kPowers blocks: the lengths, and for each part what is left over.
  constexpr std::size_t kShortBytes = (kPowers - 4) * kBlockBytes;
  const bool is_short = key.scope.size() + key.tag.size() + key.rest.size() <= kShortBytes;
  const Lanes lanes = is_short ? SumOfShort(key) : SumOfAny(key);
  return {Scrambled(lanes[0]), Scrambled(lanes[1])};
}

#if defined(__x86_64__)

[[gnu::target("aes,sse4.1")]] KeyHasher::Prefix KeyHasher::HashScope(std::string_view scope) const {
  Prefix prefix{};
  if (!use_aes_) return prefix;
  const auto* keys = reinterpret_cast<const __m128i*>(round_keys_.data());
  const auto* masks = reinterpret_cast<const __m128i*>(part_masks_.data());
  using key_hash::AbsorbPart;
  const __m128i state = hidden_ ? AbsorbPart<kHiddenRounds>(keys, masks, _mm_setzero_si128(), scope)
                                : AbsorbPart<kRounds>(keys, masks, _mm_setzero_si128(), scope);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(prefix.data()), state);
  return prefix;
}

[[gnu::target("aes,sse4.1")]] KeyHash KeyHasher::ByAesAfter(const Prefix& prefix,
                                                            const Key& key) const {
  return hidden_ ? ByAesIn<kHiddenRounds>(prefix, key) : ByAesIn<kRounds>(prefix, key);
}

KeyHash KeyHasher::ByAes(const Key& key) const { return ByAesAfter(HashScope(key.scope), key); }

#else

KeyHasher::Prefix KeyHasher::HashScope(std::string_view /*scope*/) const { return {}; }
KeyHash KeyHasher::ByAesAfter(const Prefix& /*prefix*/, const Key& key) const {
  return ByPolynomial(key);
}
KeyHash KeyHasher::ByAes(const Key& key) const { return ByPolynomial(key); }

#endif

}  // namespace sluice

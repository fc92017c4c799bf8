#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/key_hash.h"

/// The part of KeyHasher that uses AES instructions, for callers that are compiled with them:
/// [[gnu::target("aes,sse4.1")]]. Others call KeyHasher.
namespace sluice::key_hash {

template <typename T>
inline T Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// The bytes of a string of at most seven. Two loads that overlap beat a loop.
inline std::uint64_t LoadShort(const char* bytes, std::size_t size) {
  if (size >= 4) {
    return Load<std::uint32_t>(bytes) | std::uint64_t{Load<std::uint32_t>(bytes + size - 4)}
                                            << (8 * (size - 4));
  }
  std::uint64_t block = static_cast<unsigned char>(bytes[0]);
  if (size >= 2) block |= std::uint64_t{Load<std::uint16_t>(bytes + size - 2)} << (8 * (size - 2));
  return block;
}

#if defined(__x86_64__)

// Absorbs a block into the state of the CBC-MAC.
template <std::size_t rounds>
[[gnu::target("aes,sse4.1"), gnu::always_inline]] inline __m128i Absorb(const __m128i* keys,
                                                                        __m128i state,
                                                                        __m128i block) {
  state = _mm_xor_si128(_mm_xor_si128(state, block), keys[0]);
#pragma GCC unroll 16
  for (std::size_t i = 1; i < rounds; ++i) state = _mm_aesenc_si128(state, keys[i]);
  return _mm_aesenclast_si128(state, keys[rounds]);
}

// Absorbs a part; an empty one changes nothing. `masks` are those of its last block: the first if
// that is full, else the second. A short block ends with a one and zeros.
template <std::size_t rounds>
[[gnu::target("aes,sse4.1"), gnu::always_inline]] inline __m128i AbsorbPart(const __m128i* keys,
                                                                            const __m128i* masks,
                                                                            __m128i state,
                                                                            std::string_view part) {
  std::size_t left = part.size();
  if (left == 0) return state;
  const char* at = part.data();
  for (; left > 16; at += 16, left -= 16) {
    state = Absorb<rounds>(keys, state, _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  if (left == 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return Absorb<rounds>(keys, state, _mm_xor_si128(block, masks[0]));
  }
  std::uint64_t low = left >= 8 ? Load<std::uint64_t>(at) : LoadShort(at, left);
  std::uint64_t high = left > 8 ? Load<std::uint64_t>(at + left - 8) >> (8 * (16 - left)) : 0;
  (left >= 8 ? high : low) |= std::uint64_t{0x80} << (8 * (left % 8));
  const __m128i block =
      _mm_set_epi64x(static_cast<std::int64_t>(high), static_cast<std::int64_t>(low));
  return Absorb<rounds>(keys, state, _mm_xor_si128(block, masks[1]));
}

#endif

}  // namespace sluice::key_hash

#if defined(__x86_64__)

namespace sluice {

template <std::size_t rounds>
[[gnu::target("aes,sse4.1"), gnu::always_inline]] inline KeyHash KeyHasher::ByAesIn(
    const Prefix& prefix, const Key& key) const {
  const auto* keys = reinterpret_cast<const __m128i*>(round_keys_.data());
  const auto* masks = reinterpret_cast<const __m128i*>(part_masks_.data());
  __m128i state = _mm_loadu_si128(reinterpret_cast<const __m128i*>(prefix.data()));
  state = key_hash::AbsorbPart<rounds>(keys, masks + 2, state, key.tag);
  state = key_hash::AbsorbPart<rounds>(keys, masks + 4, state, key.rest);
  return {static_cast<std::uint64_t>(_mm_cvtsi128_si64(state)) >> 3,
          static_cast<std::uint64_t>(_mm_extract_epi64(state, 1)) >> 3};
}

[[gnu::target("aes,sse4.1"), gnu::always_inline]] inline KeyHash KeyHasher::HashHidden(
    const Prefix& prefix, const Key& key) const {
  return ByAesIn<kHiddenRounds>(prefix, key);
}

}  // namespace sluice

#endif

#include "base/key_hash.h"

#include <algorithm>
#include <cstring>
#include <span>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/random.h"

namespace sluice {
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

template <typename T>
T Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// The bytes of a string of at most seven. Two loads that overlap beat a loop.
std::uint64_t LoadShort(const char* bytes, std::size_t size) {
  if (size >= 4) {
    return Load<std::uint32_t>(bytes) | std::uint64_t{Load<std::uint32_t>(bytes + size - 4)}
                                            << (8 * (size - 4));
  }
  std::uint64_t block = static_cast<unsigned char>(bytes[0]);
  if (size >= 2) block |= std::uint64_t{Load<std::uint16_t>(bytes + size - 2)} << (8 * (size - 2));
  return block;
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

KeyHasher::KeyHasher(Method method) : use_aes_(method == Method::kFastest && ProcessorHasAes()) {
  FillRandom(std::as_writable_bytes(std::span(round_keys_)));
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

namespace {

// Absorbs a block into the state of the CBC-MAC.
[[gnu::target("aes,sse4.1")]] inline __m128i Absorb(const __m128i* keys, std::size_t rounds,
                                                    __m128i state, __m128i block) {
  state = _mm_xor_si128(_mm_xor_si128(state, block), keys[0]);
  for (std::size_t i = 1; i < rounds; ++i) state = _mm_aesenc_si128(state, keys[i]);
  return _mm_aesenclast_si128(state, keys[rounds]);
}

[[gnu::target("aes,sse4.1")]] inline __m128i AbsorbPart(const __m128i* keys, std::size_t rounds,
                                                        __m128i state, const char* at,
                                                        std::size_t left) {
  for (; left >= 16; at += 16, left -= 16) {
    state = Absorb(keys, rounds, state, _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  if (left == 0) return state;
  const std::uint64_t low = left >= 8 ? Load<std::uint64_t>(at) : LoadShort(at, left);
  const std::uint64_t high = left > 8 ? Load<std::uint64_t>(at + left - 8) >> (8 * (16 - left)) : 0;
  const __m128i block =
      _mm_set_epi64x(static_cast<std::int64_t>(high), static_cast<std::int64_t>(low));
  return Absorb(keys, rounds, state, block);
}

}  // namespace

[[gnu::target("aes,sse4.1")]] KeyHash KeyHasher::ByAes(const Key& key) const {
  const auto* keys = reinterpret_cast<const __m128i*>(round_keys_.data());
  // Most scopes are short, and share the first block with the lengths.
  const std::size_t early = std::min(key.scope.size(), std::size_t{8});
  const char* scope = key.scope.data();
  std::uint64_t start = 0;
  if (early == 8) {
    start = Load<std::uint64_t>(scope);
  } else if (early > 0) {
    start = LoadShort(scope, early);
  }
  const __m128i first =
      _mm_set_epi64x(static_cast<std::int64_t>(start), static_cast<std::int64_t>(LengthsOf(key)));
  __m128i state = Absorb(keys, kRounds, _mm_setzero_si128(), first);
  state = AbsorbPart(keys, kRounds, state, scope + early, key.scope.size() - early);
  state = AbsorbPart(keys, kRounds, state, key.tag.data(), key.tag.size());
  state = AbsorbPart(keys, kRounds, state, key.rest.data(), key.rest.size());
  return {static_cast<std::uint64_t>(_mm_cvtsi128_si64(state)) >> 3,
          static_cast<std::uint64_t>(_mm_extract_epi64(state, 1)) >> 3};
}

#else

KeyHash KeyHasher::ByAes(const Key& key) const { return ByPolynomial(key); }

#endif

}  // namespace sluice

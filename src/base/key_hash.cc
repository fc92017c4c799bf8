#include "base/key_hash.h"

#include <cstring>
#include <span>

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

// A permutation of the 61-bit numbers that is far from linear: what the steps before it make of keys
// that count up lies on a few straight lines under some secrets, and would fill the table in lumps.
constexpr std::uint64_t Scrambled(std::uint64_t x) {
  x ^= x >> 31;
  x = x * 0x9FB21C651E98DF25U & kPrime;
  x ^= x >> 29;
  x = x * 0xD6E8FEB86659FD93U & kPrime;
  return x ^ x >> 32;
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
    return Load<std::uint32_t>(bytes) |
           std::uint64_t{Load<std::uint32_t>(bytes + size - 4)} << (8 * (size - 4));
  }
  std::uint64_t block = static_cast<unsigned char>(bytes[0]);
  if (size >= 2) block |= std::uint64_t{Load<std::uint16_t>(bytes + size - 2)} << (8 * (size - 2));
  return block;
}

// Calls `add` with each block of the string. The last one may be short; the string's length, which
// is hashed too, tells it from one with zeros at the end.
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

// The lengths first (16 bits of the scope's, 20 of the others', which are at most 4096), so that
// the parts can't run into each other.
template <typename Add>
inline void ForEachBlock(const Key& key, const Add& add) {
  add((key.scope.size() & 0xFFFF) | (key.tag.size() & 0xFFFFF) << 16 |
      (key.rest.size() & 0xFFFFF) << 36);
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

KeyHasher::KeyHasher() {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t point = RandomResidue();
    std::uint64_t power = 1;
    for (auto& row : powers_) {
      power = Modulo(UWide{power} * point);
      row[lane] = power;
    }
  }
}

KeyHash KeyHasher::operator()(const Key& key) const {
  // At most kPowers blocks: the lengths, and for each part what is left over.
  constexpr std::size_t kShortBytes = (kPowers - 4) * kBlockBytes;
  const bool is_short = key.scope.size() + key.tag.size() + key.rest.size() <= kShortBytes;
  const Lanes lanes = is_short ? SumOfShort(key) : SumOfAny(key);
  return {Scrambled(lanes[0]), Scrambled(lanes[1])};
}

}  // namespace sluice

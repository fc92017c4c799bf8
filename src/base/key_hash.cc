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

constexpr std::uint64_t Modulo(UWide x) {
  const auto folded = static_cast<std::uint64_t>((x >> 61) & kPrime) +
                      (static_cast<std::uint64_t>(x) & kPrime) +
                      static_cast<std::uint64_t>(x >> 122);
  const std::uint64_t once = (folded >> 61) + (folded & kPrime);
  return once >= kPrime ? once - kPrime : once;
}

std::uint64_t RandomResidue() {
  for (;;) {
    const std::uint64_t candidate = RandomId() >> 3;
    if (candidate != 0 && candidate < kPrime) return candidate;
  }
}

// The last block of a string, padded with zeros: its length, which comes first, tells them apart.
std::uint64_t LoadPartial(const char* bytes, std::size_t size) {
  std::uint64_t block = 0;
  std::memcpy(&block, bytes, size);
  return block;
}

std::uint64_t LoadBlock(const char* bytes) {
  std::uint64_t block = 0;
  std::memcpy(&block, bytes, sizeof block);
  return block & kBlockMask;
}

}  // namespace

// Σ block_i · point^(i+1) in both lanes, reduced only where the 128-bit sums would overflow.
class KeyHasher::Sum {
 public:
  explicit Sum(const KeyHasher& hasher) : hasher_(hasher) {}

  void Add(std::uint64_t block) {
    if (used_ == kPowers) Fold();
    lane0_ += UWide{block} * hasher_.powers_[used_][0];
    lane1_ += UWide{block} * hasher_.powers_[used_][1];
    ++used_;
  }

  void Add(std::string_view bytes) {
    const char* at = bytes.data();
    std::size_t left = bytes.size();
    // One byte more than a block must be there, because whole words are read.
    for (; left > kBlockBytes; at += kBlockBytes, left -= kBlockBytes) Add(LoadBlock(at));
    if (left > 0) Add(LoadPartial(at, left));
  }

  std::array<std::uint64_t, kLanes> Total() {
    Fold();
    return total_;
  }

 private:
  // Adds the blocks since the last fold, which stand kPowers places higher than their powers say
  // for every fold before.
  void Fold() {
    total_[0] = Modulo(UWide{Modulo(lane0_)} * shift_[0] + total_[0]);
    total_[1] = Modulo(UWide{Modulo(lane1_)} * shift_[1] + total_[1]);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      shift_[lane] = Modulo(UWide{shift_[lane]} * hasher_.powers_[kPowers - 1][lane]);
    }
    lane0_ = 0;
    lane1_ = 0;
    used_ = 0;
  }

  const KeyHasher& hasher_;
  UWide lane0_ = 0;
  UWide lane1_ = 0;
  std::size_t used_ = 0;
  std::array<std::uint64_t, kLanes> shift_{1, 1};
  std::array<std::uint64_t, kLanes> total_{};
};

KeyHasher::KeyHasher() {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t point = RandomResidue();
    std::uint64_t power = 1;
    for (auto& row : powers_) {
      power = Modulo(UWide{power} * point);
      row[lane] = power;
    }
    for (auto& factor : mix_[lane]) factor = RandomResidue();
  }
}

KeyHash KeyHasher::operator()(const Key& key) const {
  Sum sum(*this);
  // The lengths first: 16 bits of the scope's, 20 of the others', which are at most 4096.
  sum.Add((std::uint64_t{key.scope.size()} & 0xFFFF) |
          (std::uint64_t{key.tag.size()} & 0xFFFFF) << 16 |
          (std::uint64_t{key.rest.size()} & 0xFFFFF) << 36);
  sum.Add(key.scope);
  sum.Add(key.tag);
  sum.Add(key.rest);
  const auto lanes = sum.Total();
  const auto output = [&](const std::array<std::uint64_t, 3>& mix) {
    return Modulo(UWide{mix[0]} * lanes[0] + UWide{mix[1]} * lanes[1] + mix[2]);
  };
  return {output(mix_[0]), output(mix_[1])};
}

}  // namespace sluice

#include "load/requests.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace sluice::bench {
namespace {

constexpr std::size_t kGroup = 4;  // Digits that are written at once.
constexpr std::uint32_t kGroups = 10'000;
constexpr std::uint64_t kMostKeys = 10'000'000;

// "0000" to "9999".
const char* DigitsOf(std::uint64_t number) {
  static const auto digits = [] {
    std::array<char, kGroups * kGroup> made{};
    for (std::uint32_t i = 0; i < kGroups; ++i) {
      for (std::uint32_t rest = i, at = kGroup; at-- > 0; rest /= 10) {
        made[i * kGroup + at] = static_cast<char>('0' + rest % 10);
      }
    }
    return made;
  }();
  return digits.data() + number * kGroup;
}

// Visits every one of so many keys, by steps that look like chance.
std::uint64_t StepFor(std::uint64_t keys) {
  auto step = static_cast<std::uint64_t>(static_cast<double>(keys) * 0.618034);
  while (step > 1 && std::gcd(step, keys) != 1) --step;
  return std::max<std::uint64_t>(step, 1);
}

}  // namespace

Requests::Requests(std::string text, std::uint64_t keys)
    : text_(std::move(text)), place_(text_.find(kPlace)), keys_(keys), step_(StepFor(keys)) {
  if (place_ == std::string::npos) throw std::runtime_error("no place for the key in " + text_);
  if (keys == 0 || keys > kMostKeys) throw std::runtime_error("too many keys, or none");
}

void Requests::WriteKey(char* to) {
  std::memcpy(to, DigitsOf(key_ / kGroups) + 1, kGroup - 1);
  std::memcpy(to + kGroup - 1, DigitsOf(key_ % kGroups), kGroup);
  key_ += step_;
  if (key_ >= keys_) key_ -= keys_;
}

}  // namespace sluice::bench

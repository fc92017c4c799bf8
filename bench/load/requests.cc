#include "load/requests.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>
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

Requests::Requests(std::string text, std::vector<std::uint32_t> order)
    : Requests(
          std::move(text),
          order.empty() ? 0 : *std::max_element(order.begin(), order.end()) + std::uint64_t{1}) {
  order_ = std::move(order);
}

std::uint64_t Requests::NextKey() {
  if (!order_.empty()) {
    const std::uint64_t key = order_[key_];
    if (++key_ == order_.size()) key_ = 0;
    return key;
  }
  const std::uint64_t key = key_;
  key_ += step_;
  if (key_ >= keys_) key_ -= keys_;
  return key;
}

void Requests::WriteKey(std::uint64_t key, char* to) {
  std::memcpy(to, DigitsOf(key / kGroups) + 1, kGroup - 1);
  std::memcpy(to + kGroup - 1, DigitsOf(key % kGroups), kGroup);
}

std::vector<std::uint32_t> ZipfOrder(std::uint32_t keys, std::size_t length, std::uint64_t seed) {
  std::vector<double> sums;
  double sum = 0;
  for (std::uint32_t key = 0; key < keys; ++key) sums.push_back(sum += 1.0 / (key + 1));
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<> anywhere(0, sum);
  std::vector<std::uint32_t> order(length);
  for (std::uint32_t& key : order) {
    const auto found = std::lower_bound(sums.begin(), sums.end() - 1, anywhere(random));
    key = static_cast<std::uint32_t>(found - sums.begin());
  }
  return order;
}

}  // namespace sluice::bench

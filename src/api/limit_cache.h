#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <sluice/limit.h>

#include "api/request_limits.h"

namespace sluice::api {

/// Limits that clients bring, kept because making one costs more than a check. Each set of numbers
/// has one place, which the last to come has. On one thread.
class LimitCache {
 public:
  /// The numbers that define a limit. The user of the cache gives them a meaning; equal numbers
  /// must make equal limits.
  using Numbers = std::array<std::int64_t, 4>;

  explicit LimitCache(const RequestLimitBounds& bounds = {}) : bounds_(bounds), kept_(kPlaces) {}

  /// The bounds that limits must satisfy before they are cached.
  [[nodiscard]] const RequestLimitBounds& bounds() const { return bounds_; }

  /// Null: it is not there.
  [[nodiscard]] const Limit* Find(const Numbers& numbers) const {
    const Kept& kept = kept_[PlaceOf(numbers)];
    return kept.limit && kept.numbers == numbers ? &*kept.limit : nullptr;
  }
  /// Good until another is kept.
  const Limit* Keep(const Numbers& numbers, const Limit& limit) {
    Kept& kept = kept_[PlaceOf(numbers)];
    kept = {numbers, limit};
    return &*kept.limit;
  }

 private:
  static constexpr std::size_t kPlaces = 1024;

  struct Kept {
    Numbers numbers{};
    std::optional<Limit> limit;
  };

  static std::size_t PlaceOf(const Numbers& numbers) {
    constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15U;
    std::uint64_t hash = 0;
    for (const std::int64_t number : numbers) {
      hash = (hash ^ (hash >> 32U) ^ static_cast<std::uint64_t>(number)) * kMix;
    }
    return (hash >> 32U) % kPlaces;
  }

  const RequestLimitBounds bounds_;
  std::vector<Kept> kept_;
};

}  // namespace sluice::api

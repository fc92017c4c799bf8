#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <sluice/limit.h>

namespace sluice::api {

/// Limits that clients bring, kept because making one costs more than a check. Each set of numbers
/// has one place, which the last to come has. On one thread.
class LimitCache {
 public:
  /// What a limit is made of. Whoever uses the cache says what they mean; equal ones must make
  /// equal limits.
  using Numbers = std::array<std::int64_t, 4>;

  LimitCache() : kept_(kPlaces) {}

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

  std::vector<Kept> kept_;
};

}  // namespace sluice::api

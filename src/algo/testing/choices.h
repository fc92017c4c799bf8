#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <vector>

#include <sluice/limit.h>

namespace sluice::algo::testing {

/// Where a test's arbitrary decisions come from: a random generator or a fuzzer's bytes.
class Choices {
 public:
  virtual ~Choices() = default;

  /// A number in [0, bound); bound ≥ 1.
  virtual std::uint64_t Below(std::uint64_t bound) = 0;
  /// Nothing more to decide with; Below is 0 from here on.
  [[nodiscard]] virtual bool exhausted() const = 0;

  /// A number in [low, high].
  std::int64_t Between(std::int64_t low, std::int64_t high);
  bool OneIn(std::uint64_t n) { return Below(n) == n - 1; }

  template <typename T>
  T OneOf(std::initializer_list<T> values) {
    return values.begin()[Below(values.size())];
  }
};

class RandomChoices final : public Choices {
 public:
  explicit RandomChoices(std::uint64_t seed) : generator_(seed) {}

  std::uint64_t Below(std::uint64_t bound) override { return generator_() % bound; }
  [[nodiscard]] bool exhausted() const override { return false; }

 private:
  std::mt19937_64 generator_;
};

class ByteChoices final : public Choices {
 public:
  explicit ByteChoices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t Below(std::uint64_t bound) override;
  [[nodiscard]] bool exhausted() const override { return bytes_.empty(); }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// A number in [1, most] of any magnitude: small ones are as likely as large ones.
std::int64_t AnyMagnitude(Choices& choices, std::int64_t most);

/// A limit of the algorithm: mostly of a size at which much happens in a few calls, else anything
/// from one a century to the largest that there is.
Limit AnyLimit(Choices& choices, Algorithm algorithm);
/// A small one whose window or period is a few times `about`: such limits change at one pace.
Limit AnySmallLimit(Choices& choices, Algorithm algorithm, Micros about);
Algorithm AnyAlgorithm(Choices& choices);

/// Returns `count` seeds for a random test, beginning with TestSeed.
std::vector<std::uint64_t> TestSeeds(std::size_t count);

inline constexpr std::initializer_list<Algorithm> kAlgorithms = {
    Algorithm::kTokenBucket,      Algorithm::kLeakyBucket,          Algorithm::kFixedWindow,
    Algorithm::kSlidingWindowLog, Algorithm::kSlidingWindowCounter, Algorithm::kConcurrency};

}  // namespace sluice::algo::testing

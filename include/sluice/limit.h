#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sluice/result.h>
#include <sluice/time.h>

namespace sluice {

enum class Algorithm : std::uint8_t {
  kTokenBucket,
  kLeakyBucket,
  kFixedWindow,
  kSlidingWindowLog,
  kSlidingWindowCounter,
  kConcurrency,
};

/// In the order of the enum.
inline constexpr std::array<const char*, 6> kAlgorithmNames = {
    "token_bucket",       "leaky_bucket",           "fixed_window",
    "sliding_window_log", "sliding_window_counter", "concurrency"};

/// "token_bucket", "leaky_bucket", …
[[nodiscard]] constexpr const char* AlgorithmName(Algorithm algorithm) noexcept {
  const auto index = static_cast<std::size_t>(algorithm);
  return index < kAlgorithmNames.size() ? kAlgorithmNames[index] : "unknown";
}

/// Tokens per period; an exact fraction.
struct Rate {
  std::int64_t tokens = 0;
  Micros period{0};

  static constexpr Rate Per(std::int64_t tokens, Micros period) { return {tokens, period}; }
  static constexpr Rate PerSecond(std::int64_t tokens) { return {tokens, std::chrono::seconds(1)}; }
  static constexpr Rate PerMinute(std::int64_t tokens) { return {tokens, std::chrono::minutes(1)}; }
  static constexpr Rate PerHour(std::int64_t tokens) { return {tokens, std::chrono::hours(1)}; }
  static constexpr Rate PerDay(std::int64_t tokens) { return {tokens, std::chrono::hours(24)}; }
};

/// The start of fixed windows. Calendar windows are in UTC; weeks begin on Monday.
enum class Anchor : std::uint8_t {
  kEpoch,     ///< Multiples of the window's length since the Unix epoch.
  kFirstHit,  ///< The first call that is counted starts the window.
  kDay,
  kWeek,
  kMonth,
  kYear,
};

struct TokenBucketSpec {
  std::int64_t capacity = 0;
  Rate refill;
  /// Burst above `capacity`: the cap is floor(capacity · burst_multiplier) + burst_allowance.
  std::int64_t burst_allowance = 0;
  double burst_multiplier = 1.0;
  /// If set, tokens arrive in steps at multiples of this interval since the epoch.
  Micros refill_interval{0};
};

struct LeakyBucketSpec {
  /// Size of the queue, including the call that is served now.
  std::int64_t capacity = 0;
  Rate leak;
};

struct FixedWindowSpec {
  std::int64_t limit = 0;
  Micros window{0};  ///< Not with a calendar anchor.
  Anchor anchor = Anchor::kEpoch;
};

struct SlidingWindowSpec {
  std::int64_t limit = 0;
  Micros window{0};
};

struct ConcurrencySpec {
  std::int64_t limit = 0;
  /// A slot expires if it is neither released nor renewed for this long.
  Micros time_to_live = std::chrono::minutes(1);
};

/// The normalized numbers of a limit. Only created by `Limit`.
struct LimitNumbers {
  Algorithm algorithm = Algorithm::kTokenBucket;
  Anchor anchor = Anchor::kEpoch;
  std::int64_t cap = 0;       ///< Maximum amount that can be consumed at once.
  std::int64_t rate_num = 0;  ///< Buckets: rate_num / rate_den tokens arrive each `interval`.
  std::int64_t rate_den = 1;
  Micros interval{1};  ///< Buckets: 1 µs unless a refill interval is set.
  Micros window{0};    ///< Windows: their length. Concurrency: a slot's time to live.

  friend bool operator==(const LimitNumbers&, const LimitNumbers&) = default;
};

/// An algorithm and its numbers, validated on construction. A small value: copy it freely.
///
/// Numbers must be exactly representable: capacity × denominator of the rate is at most 2^53.
/// Otherwise the next lower representable rate is used if it differs by less than one part in a
/// billion, else it is an error.
///
///     auto limit = sluice::Limit::TokenBucket(
///         {.capacity = 100, .refill = sluice::Rate::PerMinute(100)});
class Limit {
 public:
  static Result<Limit> TokenBucket(const TokenBucketSpec& spec);
  static Result<Limit> LeakyBucket(const LeakyBucketSpec& spec);
  static Result<Limit> FixedWindow(const FixedWindowSpec& spec);
  static Result<Limit> SlidingWindowLog(const SlidingWindowSpec& spec);
  static Result<Limit> SlidingWindowCounter(const SlidingWindowSpec& spec);
  static Result<Limit> Concurrency(const ConcurrencySpec& spec);
  /// Creates a limit from numbers, ignoring those that its algorithm does not use. Rates are
  /// treated like in the other functions.
  static Result<Limit> FromNumbers(const LimitNumbers& numbers);

  [[nodiscard]] Algorithm algorithm() const noexcept { return numbers_.algorithm; }
  /// Maximum amount that one call can consume, bursts included.
  [[nodiscard]] std::int64_t cap() const noexcept { return numbers_.cap; }
  [[nodiscard]] const LimitNumbers& numbers() const noexcept { return numbers_; }
  /// Id shared by limits with equal numbers; 0 if the table of shapes is full.
  [[nodiscard]] std::uint32_t shape() const noexcept { return shape_; }

  friend bool operator==(const Limit& a, const Limit& b) noexcept {
    return a.numbers_ == b.numbers_;
  }

 private:
  explicit Limit(const LimitNumbers& numbers);
  static Result<Limit> Checked(const Result<LimitNumbers>& numbers);

  LimitNumbers numbers_;
  std::uint32_t shape_ = 0;
};

/// Maximum capacity of a limit, and maximum product of cap and denominator.
inline constexpr std::int64_t kMaxAmount = std::int64_t{1} << 53;
/// Maximum window, time to live and period of a rate: a hundred years of 365 days.
inline constexpr Micros kMaxWindow = std::chrono::hours(24) * 365 * 100;
/// Maximum limit of a sliding window log, which remembers every call.
inline constexpr std::int64_t kMaxLogLimit = 1'000'000;
/// Maximum number of slots of a concurrency limit.
inline constexpr std::int64_t kMaxSlots = 1'000'000;
/// Maximum length of a key, and maximum number of limits in one decision.
inline constexpr std::size_t kMaxKeyBytes = 4096;
inline constexpr std::size_t kMaxLimitsPerCall = 128;

}  // namespace sluice

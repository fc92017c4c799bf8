#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/rules.h>

namespace sluice::rules {

/// The quantity of a call that says nothing else: one request.
inline constexpr std::string_view kRequests = "requests";

/// Quantities that every rule file knows. Tokens are disjoint: those of the prompt that were read
/// from the provider's cache are `cached_tokens` and not `input_tokens`.
inline constexpr std::array<std::string_view, 5> kUsualQuantities = {
    kRequests, "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens"};

/// A call has at most this many quantities.
inline constexpr std::size_t kMaxQuantities = 32;

/// One quantity of a weighted sum.
struct Weight {
  std::string quantity;
  std::int64_t weight = 1;  ///< In parts of the limit's unit: see NamedLimit::scale.
  bool is_required = true;  ///< A call without the quantity is an error.

  friend bool operator==(const Weight&, const Weight&) = default;
};

/// The weights of calls whose context has more than `above` tokens.
struct CountTier {
  std::int64_t above = 0;
  std::vector<Weight> weights;

  friend bool operator==(const CountTier&, const CountTier&) = default;
};

/// What a limit counts of the quantities of a call: a weighted sum, computed exactly.
struct Count {
  std::vector<CountTier> tiers;  ///< By ascending `above`, the first from 0. Empty: nothing.
  /// The weights are prices: a quantity without one is an error instead of free.
  bool is_price = false;

  friend bool operator==(const Count&, const Count&) = default;
};

enum class CountError : std::uint8_t {
  kNone,
  kMissing,   ///< The call lacks a quantity that is counted.
  kNoPrice,   ///< The call uses a quantity that has no price.
  kTooLarge,  ///< The sum is more than a limit can hold.
};

struct CountResult {
  std::int64_t amount = 0;  ///< In parts; kMaxAmount if it is too large.
  CountError error = CountError::kNone;
  std::string_view quantity{};  ///< Of kMissing and kNoPrice; lives as long as the arguments.
};

/// Returns the weighted sum. A call without `requests` has one of them. Precondition: amounts are
/// between 0 and kMaxAmount.
[[nodiscard]] CountResult Sum(const Count& count, std::span<const UsedQuantity> used);

/// Returns the number of tokens in the context: those of the prompt, from wherever they were read.
[[nodiscard]] std::int64_t ContextTokens(std::span<const UsedQuantity> used);

/// The count of a single quantity.
[[nodiscard]] Count CountOf(std::string_view quantity);

/// "input_tokens + 0.1 cached_tokens", with weights divided by `scale`.
[[nodiscard]] std::string TextOf(const Count& count, std::int64_t scale);

}  // namespace sluice::rules

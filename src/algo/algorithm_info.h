#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/limit.h>

namespace sluice::algo {

/// The meaning of a limit's numbers.
enum class AlgorithmKind : std::uint8_t {
  kBucket,  ///< A cap, and a rate at which it refills.
  kWindow,  ///< A maximum per window.
  kSlots,   ///< A maximum at a time; the holder releases each.
};

/// The properties of an algorithm, beside its name (AlgorithmName) and its operations (state.cc).
struct AlgorithmInfo {
  std::string_view alias;        ///< Alternative name in rule files and requests; may be empty.
  std::string_view public_name;  ///< In the bodies of HTTP responses.
  /// The scope of keys whose limit is part of a request: ":check:" and the public name.
  std::string_view check_scope;
  char letter;  ///< In messages to the Redis script.
  AlgorithmKind kind;
  bool leasable;       ///< Nodes can lease its tokens.
  bool keeps_history;  ///< Remembers each call.
};

/// In the order of the enum.
inline constexpr std::array<AlgorithmInfo, kAlgorithmNames.size()> kAlgorithms = {{
    {"", "TOKEN_BUCKET", ":check:TOKEN_BUCKET", 't', AlgorithmKind::kBucket, true, false},
    {"", "LEAKY_BUCKET", ":check:LEAKY_BUCKET", 'l', AlgorithmKind::kBucket, false, false},
    {"", "FIXED_WINDOW", ":check:FIXED_WINDOW", 'f', AlgorithmKind::kWindow, true, false},
    {"sliding_window", "SLIDING_WINDOW", ":check:SLIDING_WINDOW", 's', AlgorithmKind::kWindow,
     false, true},
    {"", "SLIDING_WINDOW_COUNTER", ":check:SLIDING_WINDOW_COUNTER", 'w', AlgorithmKind::kWindow,
     true, false},
    {"", "CONCURRENCY", ":check:CONCURRENCY", 'c', AlgorithmKind::kSlots, false, true},
}};

[[nodiscard]] constexpr const AlgorithmInfo& InfoOf(Algorithm algorithm) {
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

[[nodiscard]] constexpr bool IsBucket(Algorithm algorithm) {
  return InfoOf(algorithm).kind == AlgorithmKind::kBucket;
}

[[nodiscard]] constexpr bool HasSlots(Algorithm algorithm) {
  return InfoOf(algorithm).kind == AlgorithmKind::kSlots;
}

/// Returns the algorithm with this name or alias, ignoring case.
[[nodiscard]] std::optional<Algorithm> FindAlgorithm(std::string_view name);

/// Returns all names, then all aliases. `slots`: including algorithms of kind kSlots.
[[nodiscard]] std::vector<std::pair<std::string_view, Algorithm>> AlgorithmWords(bool slots);

}  // namespace sluice::algo

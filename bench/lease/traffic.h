#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "load/generator.h"

/// What is asked of the servers, and by which rules.
namespace sluice::bench {

constexpr std::size_t kConnections = 48;
constexpr std::size_t kDepth = 16;
constexpr std::array kModes{"exact", "leased"};

constexpr std::int64_t kHotLimit = 2'000;  ///< A second.
constexpr std::int64_t kZipfLimit = 100;

/// A rule for each traffic (roomy, hot, zipf, uniform) and mode: "hot-leased".
[[nodiscard]] std::string Rules();

/// A SLUICE.CHECK that meets this rule only, of keys that nobody asked for before.
[[nodiscard]] std::string CheckOfFreshKeys(const std::string& rule);

inline double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}
inline double MicrosOf(std::chrono::nanoseconds time) { return Seconds(time) * 1e6; }
inline double Answers(const Tally& tally) {
  return static_cast<double>(tally.allowed + tally.denied);
}

}  // namespace sluice::bench

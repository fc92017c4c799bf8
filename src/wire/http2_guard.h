#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sluice/time.h>

namespace sluice::wire {

/// Ways in which an HTTP/2 client can abuse a server.
enum class Http2Abuse : std::uint8_t {
  kResets,  ///< Requests reset by the client, or that the server must reset.
  kPings,
  kSettings,
  kWindowUpdates,  ///< Of a few bytes each.
  kEmptyData,
  kPriorities,     ///< PRIORITY frames and unknown frames.
  kClosedStreams,  ///< Headers of closed streams, which must be decoded anyway.
  kInflation,      ///< Compressed messages with a high ratio.
  kContinuations,  ///< Endless header blocks.
  kHeaders,        ///< Header compression with a high ratio.
  kSlowReader,     ///< Responses that are not read.
};
constexpr std::array<std::string_view, 11> LabelsOf(Http2Abuse /*any*/) {
  return {"resets",        "pings",      "settings",       "window_updates",
          "empty_data",    "priorities", "closed_streams", "inflation",
          "continuations", "headers",    "slow_reader"};
}

/// Budgets for frames that are legitimate in moderation. Each kind has a token bucket that refills
/// with time and with answered requests.
class Http2Guard {
 public:
  Http2Guard() {
    for (std::size_t i = 0; i < kBounds.size(); ++i) left_[i] = kBounds[i].most * kOne;
  }

  /// Consumes from the budget of a kind that has one. Returns false if it is exhausted.
  [[nodiscard]] bool Spend(Http2Abuse kind, std::int64_t count = 1) {
    return (left_[static_cast<std::size_t>(kind)] -= count * kOne) >= 0;
  }

  void Answered() {
    for (std::size_t i = 0; i < kBounds.size(); ++i) Add(i, kBounds[i].per_answer * kOne);
  }
  void Passed(Micros time);

 private:
  static constexpr std::int64_t kOne =
      1'000'000;  // Scale: a microsecond refills at least one unit.

  struct Bound {
    std::int64_t most;
    std::int64_t per_second;
    std::int64_t per_answer;
  };
  // In the order of Http2Abuse.
  static constexpr std::array<Bound, 8> kBounds{{
      {.most = 1000, .per_second = 100, .per_answer = 1},      // kResets
      {.most = 1000, .per_second = 100, .per_answer = 1},      // kPings
      {.most = 100, .per_second = 1, .per_answer = 0},         // kSettings
      {.most = 10'000, .per_second = 1000, .per_answer = 10},  // kWindowUpdates
      {.most = 1000, .per_second = 100, .per_answer = 1},      // kEmptyData
      {.most = 1000, .per_second = 10, .per_answer = 1},       // kPriorities
      {.most = 1000, .per_second = 100, .per_answer = 1},      // kClosedStreams
      {.most = 8192, .per_second = 4096, .per_answer = 4},     // kInflation, in KiB
  }};

  void Add(std::size_t i, std::int64_t more) {
    const std::int64_t most = kBounds[i].most * kOne;
    left_[i] = left_[i] + more < most ? left_[i] + more : most;
  }

  std::array<std::int64_t, kBounds.size()> left_{};
};

}  // namespace sluice::wire

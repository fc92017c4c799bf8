#include "api/http_options.h"

namespace sluice::api {
namespace {

using std::chrono::seconds;

constexpr std::array<std::string_view, 5> kStyles = {"x-ratelimit", "draft-6", "draft-7",
                                                     "draft-10", "none"};
constexpr std::int64_t kUsual = 100;
constexpr std::int64_t kUsualPerSecond = 10;
constexpr Micros kUsualWindow = seconds(60);

}  // namespace

std::string_view NameOf(HeaderStyle style) { return kStyles[static_cast<std::size_t>(style)]; }

std::optional<HeaderStyle> FindHeaderStyle(std::string_view name) {
  for (std::size_t i = 0; i < kStyles.size(); ++i) {
    if (kStyles[i] == name) return static_cast<HeaderStyle>(i);
  }
  return std::nullopt;
}

DefaultLimits::DefaultLimits()
    : token_bucket(
          *Limit::TokenBucket({.capacity = kUsual, .refill = Rate::PerSecond(kUsualPerSecond)})),
      leaky_bucket(
          *Limit::LeakyBucket({.capacity = kUsual, .leak = Rate::PerSecond(kUsualPerSecond)})),
      fixed_window(*Limit::FixedWindow({.limit = kUsual, .window = kUsualWindow})),
      sliding_window(*Limit::SlidingWindowLog({.limit = kUsual, .window = kUsualWindow})),
      sliding_window_counter(
          *Limit::SlidingWindowCounter({.limit = kUsual, .window = kUsualWindow})) {}

const Limit* DefaultLimits::Find(Algorithm algorithm) const {
  switch (algorithm) {
    case Algorithm::kTokenBucket:
      return &token_bucket;
    case Algorithm::kLeakyBucket:
      return &leaky_bucket;
    case Algorithm::kFixedWindow:
      return &fixed_window;
    case Algorithm::kSlidingWindowLog:
      return &sliding_window;
    case Algorithm::kSlidingWindowCounter:
      return &sliding_window_counter;
    case Algorithm::kConcurrency:
      break;
  }
  return nullptr;
}

}  // namespace sluice::api

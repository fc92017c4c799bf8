#include "api/http_options.h"

namespace sluice::api {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kUsual = 100;
constexpr std::int64_t kUsualPerSecond = 10;
constexpr Micros kUsualWindow = seconds(60);

}  // namespace

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

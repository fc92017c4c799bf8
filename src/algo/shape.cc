#include "algo/shape.h"

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

namespace sluice::algo {
namespace {

struct NumbersHash {
  std::size_t operator()(const LimitNumbers& n) const noexcept {
    std::uint64_t hash = 0;
    for (const std::int64_t part :
         {static_cast<std::int64_t>(n.algorithm), static_cast<std::int64_t>(n.anchor), n.cap,
          n.rate_num, n.rate_den, n.interval.count(), n.window.count()}) {
      hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

struct Shapes {
  std::shared_mutex mutex;
  std::unordered_map<LimitNumbers, std::uint32_t, NumbersHash> index;
};

Shapes& TheShapes() {
  static auto* shapes = new Shapes;  // Never destroyed: limits may outlive main.
  return *shapes;
}

// Entry i is written once, before shape i is returned. Optional, so that unused entries are zeros,
// which occupy neither the executable nor memory.
std::array<std::optional<LimitNumbers>, kMaxShapes + 1> numbers_by_shape;

}  // namespace

std::uint32_t ShapeOf(const LimitNumbers& numbers) {
  Shapes& shapes = TheShapes();
  {
    const std::shared_lock lock(shapes.mutex);
    const auto found = shapes.index.find(numbers);
    if (found != shapes.index.end()) return found->second;
    if (shapes.index.size() == kMaxShapes) return 0;
  }
  const std::unique_lock lock(shapes.mutex);
  if (shapes.index.size() == kMaxShapes && !shapes.index.contains(numbers)) return 0;
  const auto next = static_cast<std::uint32_t>(shapes.index.size() + 1);
  const auto [entry, inserted] = shapes.index.try_emplace(numbers, next);
  if (inserted) numbers_by_shape[next] = numbers;
  return entry->second;
}

const LimitNumbers& NumbersOf(std::uint32_t shape) { return *numbers_by_shape[shape]; }

}  // namespace sluice::algo

#include "telemetry/loop_insight.h"

#include <algorithm>
#include <utility>

namespace sluice::telemetry {
namespace {

// Of a second: calls that are all counted, and those after which the share halves. A hundred
// thousand calls a second cost some twelve thousand updates.
constexpr std::uint32_t kAllCounted = 4096;
constexpr std::uint32_t kSampleStep = 2048;

}  // namespace

void ConsumerSketches::Clear() {
  for (SpaceSaving& sketch : sketches) sketch.Clear();
  max_denied_weight = 1;
  max_allowed_weight = 1;
}

LoopInsight::LoopInsight(const KeyHasher& hasher, const LoopInsightOptions& options,
                         std::uint64_t seed)
    : hasher_(hasher),
      options_(options),
      denied_sampler_(kAllCounted, kSampleStep, seed),
      allowed_sampler_(kAllCounted, kSampleStep, seed * 31 + 7),
      until_allowed_(options.allowed_every),
      sketches_(std::make_unique<ConsumerSketches>()),
      records_(std::make_unique<DecisionBuffer>(options.record_bytes)) {}

void LoopInsight::CountDenied(const ConsumerUse& use, std::uint32_t weight) {
  sketches_->max_denied_weight = std::max(sketches_->max_denied_weight, weight);
  const std::uint64_t hash = hasher_({.scope = use.rule, .tag = use.tag, .rest = use.rest}).high;
  Count(TopDimension::kDenied, hash, use, 1, weight);
}

void LoopInsight::CountAllowed(const ConsumerUse& use, std::uint32_t weight) {
  sketches_->max_allowed_weight = std::max(sketches_->max_allowed_weight, weight);
  const std::uint64_t hash = hasher_({.scope = use.rule, .tag = use.tag, .rest = use.rest}).high;
  Count(TopDimension::kAllowed, hash, use, 1, weight);
  if (use.cost > 0) Count(TopDimension::kCost, hash, use, use.cost, weight);
}

void LoopInsight::Count(TopDimension dimension, std::uint64_t hash, const ConsumerUse& use,
                        std::uint64_t amount, std::uint32_t weight) {
  const double variance = weight == 1 ? 0
                                      : static_cast<double>(amount) * static_cast<double>(amount) *
                                            weight * (weight - 1);
  const SpaceSaving::Added added =
      sketches_->sketches[static_cast<std::size_t>(dimension)].Add(hash, amount * weight, variance);
  if (added.is_new) added.counter.text.Set(use.rule, use.tag, use.rest, use.is_secret);
  added.counter.utilization = use.utilization;
  if (!has_counts_.load(std::memory_order_relaxed)) {
    has_counts_.store(true, std::memory_order_relaxed);
  }
}

void LoopInsight::Record(const DecisionRecord& record) {
  records_->Append(record);
  if (!has_records_.load(std::memory_order_relaxed)) {
    has_records_.store(true, std::memory_order_relaxed);
  }
}

std::unique_ptr<DecisionBuffer> LoopInsight::Exchange(std::unique_ptr<DecisionBuffer> empty) {
  has_records_.store(false, std::memory_order_relaxed);
  return std::exchange(records_, std::move(empty));
}

std::unique_ptr<ConsumerSketches> LoopInsight::Exchange(std::unique_ptr<ConsumerSketches> empty) {
  has_counts_.store(false, std::memory_order_relaxed);
  denied_sampler_.Restart();
  allowed_sampler_.Restart();
  return std::exchange(sketches_, std::move(empty));
}

}  // namespace sluice::telemetry

#include "telemetry/loop_insight.h"

#include <algorithm>
#include <utility>

namespace sluice::telemetry {
namespace {

// Of a second: calls that are all counted, and those after which the share halves. A hundred
// thousand calls a second cost some eight thousand updates.
constexpr std::uint32_t kAllCounted = 2048;
constexpr std::uint32_t kSampleStep = 1024;

}  // namespace

const SpaceSaving& ConsumerSketches::Of(TopDimension dimension) const {
  const bool same = dimension == TopDimension::kCost && !has_costs_;
  return sketches_[static_cast<std::size_t>(same ? TopDimension::kAllowed : dimension)];
}

SpaceSaving& ConsumerSketches::Mutable(TopDimension dimension) {
  SpaceSaving& sketch = sketches_[static_cast<std::size_t>(dimension)];
  if (dimension == TopDimension::kCost && !has_costs_) {
    sketch.Assign(Of(TopDimension::kAllowed));
    has_costs_ = true;
  }
  return sketch;
}

void ConsumerSketches::Clear() {
  for (SpaceSaving& sketch : sketches_) sketch.Clear();
  has_costs_ = false;
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
  Count(sketches_->Mutable(TopDimension::kDenied), hash, use, 1, weight);
}

void LoopInsight::CountAllowed(const ConsumerUse& use, std::uint32_t weight) {
  sketches_->max_allowed_weight = std::max(sketches_->max_allowed_weight, weight);
  const std::uint64_t hash = hasher_({.scope = use.rule, .tag = use.tag, .rest = use.rest}).high;
  // Before the call itself is counted: the costs begin with what was counted until now.
  if (use.cost != 1 || sketches_->has_costs()) {
    SpaceSaving& costs = sketches_->Mutable(TopDimension::kCost);
    if (use.cost > 0) Count(costs, hash, use, use.cost, weight);
  }
  Count(sketches_->Mutable(TopDimension::kAllowed), hash, use, 1, weight);
}

void LoopInsight::Count(SpaceSaving& sketch, std::uint64_t hash, const ConsumerUse& use,
                        std::uint64_t amount, std::uint32_t weight) {
  const double variance = weight == 1 ? 0
                                      : static_cast<double>(amount) * static_cast<double>(amount) *
                                            weight * (weight - 1);
  const SpaceSaving::Added added = sketch.Add(hash, amount * weight, variance);
  if (added.new_text != nullptr) added.new_text->Set(use.rule, use.tag, use.rest, use.is_secret);
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

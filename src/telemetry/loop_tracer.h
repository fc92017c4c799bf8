#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>

#include "base/trace_context.h"
#include "telemetry/span_buffer.h"

namespace sluice::telemetry {

/// The samplers of OpenTelemetry. A parent-based one does as the caller's span does, and decides
/// by itself where there is none.
enum class TraceSampler : std::uint8_t {
  kAlwaysOn,
  kAlwaysOff,
  kRatio,
  kParentAlwaysOn,
  kParentAlwaysOff,
  kParentRatio,
};

struct TracerOptions {
  TraceSampler sampler = TraceSampler::kParentRatio;
  double ratio = 0.001;
  std::chrono::nanoseconds slow = std::chrono::milliseconds(25);  ///< From when a call is slow.
};

/// Records the spans of one event loop, on that loop's thread; nothing waits or allocates.
/// Another thread reads by exchange, as with LoopInsight.
class LoopTracer {
 public:
  /// `budget` is that of all loops and must outlive it.
  LoopTracer(const TracerOptions& options, SpanBudget& budget, std::uint64_t seed)
      : options_(options),
        bound_(BoundOf(options.ratio)),
        budget_(budget),
        state_(seed),
        buffer_(std::make_unique<SpanBuffer>()) {}

  /// Decides, before a call, whether it is recorded, and gives a caller without a trace one of its
  /// own if so. Calls that turn out to be slow or degraded are recorded anyhow.
  void Begin(TraceContext& context) {
    const bool has_parent = context.parent != 0;
    switch (options_.sampler) {
      case TraceSampler::kParentAlwaysOn:
      case TraceSampler::kParentAlwaysOff:
      case TraceSampler::kParentRatio:
        if (has_parent) return;
        break;
      default:
        break;
    }
    switch (options_.sampler) {
      case TraceSampler::kAlwaysOn:
      case TraceSampler::kParentAlwaysOn:
        context.is_sampled = true;
        break;
      case TraceSampler::kAlwaysOff:
      case TraceSampler::kParentAlwaysOff:
        context.is_sampled = false;
        break;
      default:
        // A trace id decides for itself, so that all services that see it decide alike.
        context.is_sampled = ((has_parent ? context.trace_low : Random()) & kRatioBits) < bound_;
    }
  }

  /// Whether a record of this second has a chance. If not, it is counted as dropped and need not be
  /// made: an outage, or callers that sample everything, cost next to nothing.
  [[nodiscard]] bool HasRoom(std::chrono::seconds second, bool has_priority) {
    if (budget_.HasRoom(second) || (has_priority && buffer_->HasOrdinary())) return true;
    buffer_->CountDropped();
    has_spans_.store(true, std::memory_order_relaxed);  // So that the number is collected.
    return false;
  }

  [[nodiscard]] bool IsSlow(std::chrono::nanoseconds took) const { return took >= options_.slow; }

  /// Records a call. Ids that are missing are made.
  void Record(SpanRecord record, bool has_store_span) {
    if ((record.context.trace_high | record.context.trace_low) == 0) {
      record.context.trace_high = Random();
      record.context.trace_low = Random();
    }
    record.id = Random();
    if (has_store_span) record.store_id = Random();
    buffer_->Add(record, budget_);
    has_spans_.store(true, std::memory_order_relaxed);  // Relaxed: spans are read by exchange only.
  }

  /// Gives away what was recorded and goes on with `empty`.
  [[nodiscard]] std::unique_ptr<SpanBuffer> Exchange(std::unique_ptr<SpanBuffer> empty) {
    has_spans_.store(false, std::memory_order_relaxed);
    buffer_.swap(empty);
    return empty;
  }
  /// From any thread.
  [[nodiscard]] bool has_spans() const { return has_spans_.load(std::memory_order_relaxed); }

 private:
  static constexpr unsigned kRatioBitCount = 56;
  static constexpr std::uint64_t kRatioBits = (std::uint64_t{1} << kRatioBitCount) - 1;

  static std::uint64_t BoundOf(double ratio) {
    return static_cast<std::uint64_t>(std::ldexp(ratio, kRatioBitCount));
  }

  // SplitMix64: ids need to be different, not unpredictable. Never 0.
  std::uint64_t Random() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    mixed ^= mixed >> 31U;
    return mixed == 0 ? 1 : mixed;
  }

  const TracerOptions options_;
  const std::uint64_t bound_;
  SpanBudget& budget_;
  std::uint64_t state_;
  std::unique_ptr<SpanBuffer> buffer_;
  std::atomic<bool> has_spans_{false};
};

}  // namespace sluice::telemetry

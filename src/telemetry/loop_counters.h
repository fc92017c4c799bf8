#pragma once

#include <chrono>
#include <cstdint>

#include <sluice/result.h>

#include "base/counter.h"
#include "telemetry/histogram.h"
#include "telemetry/labels.h"
#include "telemetry/rule_counters.h"

namespace sluice::telemetry {

/// Everything that loops count, but for what they count by rule. Count, Level and Times are what
/// the numbers are held in: while they are written, or once they are read.
template <typename Count, typename Level, typename Times>
struct LoopValues {
  By<Protocol, By<CallOutcome, Count>> calls;
  By<Algorithm, By<Allowed, Times>> check_times;
  Times storage_times;
  By<StoreError, Count> storage_errors;
  By<FailureMode, Count> degraded;
  By<List, Count> list_hits;
  By<Protocol, Count> protocol_errors;
  By<Http2Abuse, Count> http2_abuses;
  By<Protocol, Level> connections;
  By<Protocol, Count> accepted;
  By<Protocol, By<Refusal, Count>> refused;
  By<Protocol, By<Bound, Count>> bounds_exceeded;
};

/// What was read, of one loop or of several.
using LoopTotals = LoopValues<std::uint64_t, std::int64_t, HistogramTotals>;

/// What one loop counts, by functions that cost a nanosecond or two. Made and written by one
/// thread, read by any. Aligned so that two loops never share a cache line.
///
///     counters.CountLimit(rule.series, Allowed::kYes);   // for each limit that the call met
///     counters.CountCall(Protocol::kResp, CallOutcome::kAllowed);
class alignas(128) LoopCounters {
 public:
  /// `ids` must have given every RuleSeries that is counted here.
  explicit LoopCounters(const RuleIds& ids) : rules_(ids) {}

  /// Once for every call, when its answer is known.
  void CountCall(Protocol protocol, CallOutcome outcome) { v_.calls[protocol][outcome].Add(); }

  /// Once for every limit that a call met and that may deny it.
  void CountLimit(RuleSeries series, Allowed allowed) {
    rules_.Add(series, allowed == Allowed::kYes ? RuleCounters::Column::kAllowed
                                                : RuleCounters::Column::kDenied);
  }
  /// Instead of CountLimit where a limit would have denied the call, but may not: it counts as let
  /// pass, too.
  void CountShadowDenial(RuleSeries series) {
    rules_.Add(series, RuleCounters::Column::kAllowed);
    rules_.Add(series, RuleCounters::Column::kShadowDenied);
  }

  /// Whether this call's time should be taken: true for one in kSampleEvery. A clock read costs as
  /// much as a check.
  bool SampleThis() {
    if (--until_sample_ != 0) return false;
    until_sample_ = kSampleEvery;
    return true;
  }
  /// Of a sampled call; the algorithm is that of the limit that the answer is about.
  void RecordCheck(Algorithm algorithm, Allowed allowed, std::chrono::nanoseconds took) {
    v_.check_times[algorithm][allowed].Record(took);
  }
  /// From when a store was asked until it answered.
  void RecordStorage(std::chrono::nanoseconds took) { v_.storage_times.Record(took); }

  void CountStorageError(StoreError error) { v_.storage_errors[error].Add(); }
  /// Codes that don't come from a store are not counted.
  void CountStorageError(ErrorCode code);
  void CountDegraded(FailureMode mode) { v_.degraded[mode].Add(); }
  void CountListHit(List list) { v_.list_hits[list].Add(); }
  void CountProtocolError(Protocol protocol) { v_.protocol_errors[protocol].Add(); }

  void CountAbuse(Http2Abuse abuse) { v_.http2_abuses[abuse].Add(); }

  void ConnectionOpened(Protocol protocol) {
    v_.accepted[protocol].Add();
    v_.connections[protocol].Add(1);
  }
  void ConnectionClosed(Protocol protocol) { v_.connections[protocol].Add(-1); }
  void CountRefused(Protocol protocol, Refusal why) { v_.refused[protocol][why].Add(); }
  void CountBoundExceeded(Protocol protocol, Bound bound) {
    v_.bounds_exceeded[protocol][bound].Add();
  }

  /// Of all that was recorded so far.
  void AddStorageTimes(HistogramTotals& totals) const { v_.storage_times.AddTo(totals); }
  /// Adds what this loop counted so far.
  void AddTo(LoopTotals& totals) const;
  [[nodiscard]] const RuleCounters& rules() const { return rules_; }

  /// A prime, so that it does not fall into step with clients that send batches of equal length.
  static constexpr std::uint32_t kSampleEvery = 61;

 private:
  LoopValues<Counter, Gauge, Histogram> v_;
  RuleCounters rules_;
  std::uint32_t until_sample_ = kSampleEvery;
};

}  // namespace sluice::telemetry

#include "telemetry/loop_counters.h"

namespace sluice::telemetry {
namespace {

void Merge(const Counter& from, std::uint64_t& into) { into += from.value(); }
void Merge(const Gauge& from, std::int64_t& into) { into += from.value(); }
void Merge(const Histogram& from, HistogramTotals& into) { from.AddTo(into); }

template <typename Enum, typename From, typename Into>
void Merge(const By<Enum, From>& from, By<Enum, Into>& into) {
  for (std::size_t i = 0; i < from.kSize; ++i) Merge(from.values[i], into.values[i]);
}

}  // namespace

void LoopCounters::CountStorageError(ErrorCode code) {
  switch (code) {
    case ErrorCode::kStoreFull:
      return CountStorageError(StoreError::kFull);
    case ErrorCode::kStoreUnavailable:
      return CountStorageError(StoreError::kUnavailable);
    case ErrorCode::kStoreTimeout:
      return CountStorageError(StoreError::kTimeout);
    case ErrorCode::kStoreError:
      return CountStorageError(StoreError::kError);
    case ErrorCode::kForeignValue:
      return CountStorageError(StoreError::kForeignValue);
    default:
      return;
  }
}

void LoopCounters::AddTo(LoopTotals& totals) const {
  Merge(v_.calls, totals.calls);
  Merge(v_.check_times, totals.check_times);
  Merge(v_.storage_times, totals.storage_times);
  Merge(v_.storage_errors, totals.storage_errors);
  Merge(v_.degraded, totals.degraded);
  Merge(v_.list_hits, totals.list_hits);
  Merge(v_.protocol_errors, totals.protocol_errors);
  Merge(v_.http2_abuses, totals.http2_abuses);
  Merge(v_.connections, totals.connections);
  Merge(v_.accepted, totals.accepted);
  Merge(v_.refused, totals.refused);
  Merge(v_.bounds_exceeded, totals.bounds_exceeded);
}

}  // namespace sluice::telemetry

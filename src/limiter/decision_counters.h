#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <sluice/limit.h>
#include <sluice/result.h>

#include "base/counter.h"
#include "base/histogram.h"
#include "base/labels.h"
#include "base/metrics.h"
#include "limiter/when_full.h"
#include "match/entry.h"
#include "rules/model.h"

namespace sluice::limiter {

enum class List : std::uint8_t { kAllow, kDeny };
constexpr std::array<std::string_view, 2> LabelsOf(List /*any*/) { return {"allow", "deny"}; }

enum class Allowed : std::uint8_t { kNo, kYes };
constexpr std::array<std::string_view, 2> LabelsOf(Allowed /*any*/) { return {"false", "true"}; }

/// Errors of stores. kNone: of others, which are not counted.
enum class StoreError : std::uint8_t {
  kNone,
  kUnavailable,
  kTimeout,
  kError,
  kForeignValue,
  kFull
};
constexpr std::array<std::string_view, 6> LabelsOf(StoreError /*any*/) {
  return {"", "unavailable", "timeout", "error", "foreign_value", "full"};
}
constexpr StoreError StoreErrorOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kStoreFull:
      return StoreError::kFull;
    case ErrorCode::kStoreUnavailable:
      return StoreError::kUnavailable;
    case ErrorCode::kStoreTimeout:
      return StoreError::kTimeout;
    case ErrorCode::kStoreError:
      return StoreError::kError;
    case ErrorCode::kForeignValue:
      return StoreError::kForeignValue;
    default:
      return StoreError::kNone;
  }
}

/// Decisions of one event loop.
struct DecisionCounters {
  EnumArray<List, Counter> list_hits;
  EnumArray<rules::OnStoreFailure, Counter>
      degraded;                          ///< Made without the store because it failed.
  EnumArray<FullOutcome, Counter> full;  ///< On calls whose key had no room in the store.
  EnumArray<Algorithm, EnumArray<Allowed, Histogram>>
      check_times;  ///< Sampled, by the tightest limit.
  Histogram storage_times;
  EnumArray<StoreError, Counter> storage_errors;

  void operator+=(const DecisionCounters& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    using enum MetricType;
    using S = DecisionCounters;
    return std::tuple{Metric{kCounter, "rate_limiter_list_hits_total",
                             "Calls on the allow or the deny list.", &S::list_hits, "list"},
                      Metric{kCounter, "rate_limiter_degraded_decisions_total",
                             "Decisions made without the store because it failed, by failure mode.",
                             &S::degraded, "mode"},
                      Metric{kCounter, "rate_limiter_full_store_decisions_total",
                             "Decisions about keys without room in the store, by consequence.",
                             &S::full, "when_full"},
                      Metric{kHistogram, "rate_limiter_check_seconds",
                             "Time from a request's bytes to its decision; sampled.",
                             &S::check_times, "algorithm", "allowed"},
                      Metric{kHistogram, "rate_limiter_storage_seconds",
                             "Time from a request to the store to its answer.", &S::storage_times},
                      Metric{kCounter, "rate_limiter_storage_errors_total",
                             "Store operations that failed.", &S::storage_errors, "error_type"}};
  }
};
static_assert(HasAllMetrics<DecisionCounters>);

enum class PenaltyMode : std::uint8_t { kEnforced, kShadow };
constexpr std::array<std::string_view, 2> LabelsOf(PenaltyMode /*any*/) {
  return {"enforced", "shadow"};
}

/// Live entries that changed decisions of one event loop.
struct EntryCounters {
  EnumArray<match::EntryEffect, Counter> hits;  ///< Of operators' entries.
  EnumArray<PenaltyMode, Counter> penalties;    ///< Of penalties.

  void operator+=(const EntryCounters& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    return std::tuple{Metric{MetricType::kCounter, "rate_limiter_entry_hits_total",
                             "Checks that a live entry decided, or whose limits it changed.",
                             &EntryCounters::hits, "effect"},
                      Metric{MetricType::kCounter, "rate_limiter_penalized_calls_total",
                             "Checks that a penalty blocked or changed, or in shadow would have.",
                             &EntryCounters::penalties, "mode"}};
  }
};
static_assert(HasAllMetrics<EntryCounters>);

/// Decisions of one limit.
struct LimitCounters {
  Counter denied;
  Counter allowed;
  Counter shadow_denied;  ///< Also in `allowed`.

  void operator+=(const LimitCounters& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    using enum MetricType;
    using S = LimitCounters;
    constexpr std::string_view kRequests = "rate_limiter_requests_total";
    constexpr std::string_view kRequestsHelp =
        "Limits that were evaluated for calls, by whether the limit allowed the call.";
    return std::tuple{Metric{kCounter, kRequests, kRequestsHelp, &S::denied, "allowed", "false"},
                      Metric{kCounter, kRequests, kRequestsHelp, &S::allowed, "allowed", "true"},
                      Metric{kCounter, "rate_limiter_shadow_denials_total",
                             "Calls that a shadow limit would have denied.", &S::shadow_denied}};
  }
};
static_assert(HasAllMetrics<LimitCounters>);

/// Calls that concern a rule as a whole.
struct RuleCounters {
  Counter missing_attributes;

  void operator+=(const RuleCounters& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    return std::tuple{Metric{MetricType::kCounter, "rate_limiter_missing_attributes_total",
                             "Calls without an attribute that the rule's `per` needs.",
                             &RuleCounters::missing_attributes}};
  }
};
static_assert(HasAllMetrics<RuleCounters>);

}  // namespace sluice::limiter

#include "simulate/impact.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "simulate/replay.h"

namespace sluice::simulate {
namespace {

constexpr std::size_t kMaxKeys = 2'000'000;
constexpr std::size_t kMaxCallerText = 256;

struct CallerTally {
  std::size_t first_call = 0;
  std::uint64_t calls = 0;
  std::uint64_t newly_denied = 0;
  std::uint64_t newly_allowed = 0;
};
using CallerTallies = std::unordered_map<std::uint64_t, CallerTally>;

const Attribute* FindAttribute(const TraceRow& row, std::string_view name) {
  for (const Attribute& attribute : row.attributes) {
    if (attribute.name == name && !attribute.value.empty()) return &attribute;
  }
  return nullptr;
}

// The calls of one caller in `divisor`.
struct ReplayedCalls {
  std::vector<std::size_t> indexes;
  std::uint64_t divisor = 1;
  bool any_api_key = false;
};

ReplayedCalls ChooseCalls(const TrafficSample& sample, const ImpactOptions& options) {
  ReplayedCalls chosen;
  chosen.divisor = sample.share_divisor();
  chosen.indexes.resize(sample.calls());
  std::vector<std::uint64_t> callers(sample.calls());
  SampledCall call;
  for (std::size_t i = 0; i < sample.calls(); ++i) {
    sample.Read(i, call);
    chosen.indexes[i] = i;
    callers[i] = call.caller;
    chosen.any_api_key = chosen.any_api_key || FindAttribute(call.row, "api_key") != nullptr;
  }
  while (chosen.indexes.size() * std::uint64_t{options.nodes} > options.max_replayed_calls) {
    std::vector<std::size_t> fewer;
    for (const std::size_t i : chosen.indexes) {
      if ((callers[i] & chosen.divisor) == 0) fewer.push_back(i);
    }
    if (fewer.size() < options.min_calls) break;
    chosen.indexes = std::move(fewer);
    chosen.divisor *= 2;
  }
  return chosen;
}

Result<std::unique_ptr<Replay>> ReplayOf(const Policy& policy, const ReplayedCalls& calls) {
  constexpr std::uint64_t kMaxDivisor = std::uint64_t{1} << 31;
  // Does not own the rules: they outlive the replay.
  return Replay::Create(
      std::shared_ptr<const match::RuleSet>(std::shared_ptr<void>(), &policy.rules),
      {.max_keys = kMaxKeys,
       .unknown_duration = UnknownDuration::kLeaveOut,
       .share_divisor = static_cast<std::uint32_t>(std::min(calls.divisor, kMaxDivisor)),
       .addresses_are_callers = !calls.any_api_key,
       .entries = policy.entries});
}

void Compare(const SimulatedDecision& before, const SimulatedDecision& after, CallerTally& caller) {
  if (before.allowed == after.allowed) return;
  ++(after.allowed ? caller.newly_allowed : caller.newly_denied);
}

CallerTallies ReplayCalls(const TrafficSample& sample, const ReplayedCalls& calls,
                          std::uint32_t nodes, Replay& before, Replay& after) {
  CallerTallies callers;
  SampledCall call;
  for (const std::size_t i : calls.indexes) {
    sample.Read(i, call);
    CallerTally& caller = callers.try_emplace(call.caller, CallerTally{i}).first->second;
    caller.calls += nodes;
    const WallTime now = call.row.time;
    Compare(before.Evaluate(call.row, now), after.Evaluate(call.row, now), caller);
    for (std::uint32_t node = 1; node < nodes; ++node) {
      Compare(before.Repeat(call.row, now), after.Repeat(call.row, now), caller);
    }
  }
  return callers;
}

void NameCaller(const TraceRow& row, AffectedCaller& caller) {
  const Attribute* identity = FindAttribute(row, "api_key");
  if (identity == nullptr) identity = FindAttribute(row, "ip");
  if (identity != nullptr) {
    caller.attribute = identity->name;
    caller.value = identity->value;
    return;
  }
  for (const Attribute& attribute : row.attributes) {
    if (!caller.value.empty()) caller.value += ", ";
    caller.value.append(attribute.name).append("=").append(attribute.value);
    if (caller.value.size() > kMaxCallerText) return caller.value.resize(kMaxCallerText);
  }
}

std::vector<AffectedCaller> MostDenied(const TrafficSample& sample, const CallerTallies& callers,
                                       std::size_t top) {
  std::vector<const CallerTally*> denied;
  for (const auto& [number, caller] : callers) {
    if (caller.newly_denied > 0) denied.push_back(&caller);
  }
  // By the first call, too, so that the order does not depend on the secret of the hash.
  const std::size_t count = std::min(top, denied.size());
  std::partial_sort(denied.begin(), denied.begin() + static_cast<std::ptrdiff_t>(count),
                    denied.end(), [](const CallerTally* a, const CallerTally* b) {
                      return a->newly_denied != b->newly_denied ? a->newly_denied > b->newly_denied
                                                                : a->first_call < b->first_call;
                    });
  std::vector<AffectedCaller> most;
  SampledCall call;
  for (std::size_t i = 0; i < count; ++i) {
    const CallerTally& tally = *denied[i];
    sample.Read(tally.first_call, call);
    AffectedCaller& caller = most.emplace_back();
    NameCaller(call.row, caller);
    caller.calls = tally.calls;
    caller.newly_denied_calls = tally.newly_denied;
    caller.newly_allowed_calls = tally.newly_allowed;
  }
  return most;
}

ImpactResult Unavailable(std::string reason) {
  return {.impact = std::nullopt, .unavailable_reason = std::move(reason)};
}

}  // namespace

ImpactResult EvaluateImpact(const TrafficSample& sample, const match::RuleSet& before,
                            const match::RuleSet& after, const ImpactOptions& options) {
  return EvaluateImpact(sample, Policy{before}, Policy{after}, options);
}

ImpactResult EvaluateImpact(const TrafficSample& sample, const Policy& before, const Policy& after,
                            const ImpactOptions& given) {
  ImpactOptions options = given;
  options.nodes = std::max<std::uint32_t>(options.nodes, 1);
  if (sample.calls() < options.min_calls) {
    return Unavailable("the traffic sample has " + std::to_string(sample.calls()) + " calls of " +
                       std::to_string(sample.span() / std::chrono::seconds(1)) +
                       " seconds, at least " + std::to_string(options.min_calls) +
                       " calls are needed");
  }
  const ReplayedCalls calls = ChooseCalls(sample, options);
  const auto old_rules = ReplayOf(before, calls);
  if (!old_rules) return Unavailable(old_rules.error().message);
  const auto new_rules = ReplayOf(after, calls);
  if (!new_rules) return Unavailable(new_rules.error().message);
  const CallerTallies callers = ReplayCalls(sample, calls, options.nodes, **old_rules, **new_rules);

  Impact impact;
  impact.calls = calls.indexes.size();
  impact.callers = callers.size();
  impact.replayed_calls = impact.calls * options.nodes;
  for (const auto& [number, caller] : callers) {
    impact.newly_denied_calls += caller.newly_denied;
    impact.newly_allowed_calls += caller.newly_allowed;
    impact.newly_denied_callers += caller.newly_denied > 0 ? 1 : 0;
    impact.newly_allowed_callers += caller.newly_allowed > 0 ? 1 : 0;
  }
  impact.most_denied = MostDenied(sample, callers, options.top);
  impact.share = 1.0 / static_cast<double>(calls.divisor);
  impact.span = sample.span();
  impact.nodes = options.nodes;
  impact.approximate = options.nodes > 1 || calls.divisor > 1 ||
                       (*old_rules)->limits_left_out() > 0 || (*new_rules)->limits_left_out() > 0;
  return {.impact = std::move(impact), .unavailable_reason = {}};
}

}  // namespace sluice::simulate

#include "api/call_record.h"

#include <algorithm>

#include "answer/http_answer.h"
#include "api/call_counters.h"

namespace sluice::api {
namespace {

using limiter::CheckRequest;

// With a rest, the tag is one of several values: any of them may be the key.
bool ContainsApiKey(const CheckRequest& check, const Key& key, const rules::Rule* rule) {
  if (rule == nullptr) return true;  // The client's own name for it.
  const auto api_key = check.Find("api_key");
  if (!api_key || api_key->empty()) return false;
  return key.tag == *api_key || (!key.rest.empty() && !check.Find("api_key_hash"));
}

std::string_view RuleOf(const rules::Rule* rule) {
  return rule == nullptr ? kRequestRule : std::string_view(rule->id);
}

float UtilizationOf(const Verdict& verdict) {
  if (verdict.limit <= 0) return 0;
  const auto used =
      static_cast<float>(std::max<std::int64_t>(verdict.limit - verdict.remaining, 0));
  return used / static_cast<float>(verdict.limit);
}

telemetry::ConsumerUse ConsumerOf(const CheckRequest& check, std::size_t i) {
  const store::KeyUse& use = check.uses()[i];
  const rules::Rule* const rule = check.matched(i).rule;
  return {.rule = RuleOf(rule),
          .tag = use.key.tag,
          .rest = use.key.rest,
          .is_secret = ContainsApiKey(check, use.key, rule),
          .cost = static_cast<std::uint64_t>(std::clamp<std::int64_t>(use.cost, 0, kMaxAmount)),
          .utilization = UtilizationOf(use.verdict)};
}

// Each rule once, by the first of its limits.
void CountAllowed(telemetry::LoopInsight& insight, const CheckRequest& check,
                  std::uint32_t weight) {
  const rules::Rule* previous = nullptr;
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    const rules::Rule* const rule = check.matched(i).rule;
    if (check.uses()[i].mode == Mode::kShadow || (rule != nullptr && rule == previous)) continue;
    previous = rule;
    insight.CountAllowed(ConsumerOf(check, i), weight);
  }
}

}  // namespace

bool IsDeniedByLimit(const CheckRequest& check) {
  return check.operation == store::Operation::kCheck && !check.allowed && !check.uses().empty();
}

telemetry::DecisionRecord RecordOf(Protocol protocol, const CheckRequest& check, WallTime now,
                                   std::uint64_t rules) {
  telemetry::DecisionRecord record{.time = now,
                                   .allowed = check.allowed,
                                   .degraded = check.degraded,
                                   .protocol = static_cast<std::uint16_t>(protocol),
                                   .outcome = static_cast<std::uint16_t>(OutcomeOf(check)),
                                   .rules = rules};
  if (!check.uses().empty()) {
    const std::size_t i = check.decision.index;
    const store::KeyUse& use = check.uses()[i];
    const match::MatchedLimit& matched = check.matched(i);
    const Verdict& verdict = check.decision.tightest;
    record.rule = RuleOf(matched.rule);
    record.limit = matched.limit == nullptr ? std::string_view() : matched.limit->name;
    record.tag = use.key.tag;
    record.rest = use.key.rest;
    record.cap = verdict.limit != 0 ? verdict.limit : use.limit->cap();
    record.remaining = verdict.remaining;
    record.cost = use.cost;
    record.wait = WaitOf(check);
  }
  return record;
}

void AddAttributes(const CheckRequest& check, RecordAttributes& room,
                   telemetry::DecisionRecord& record) {
  if (!check.uses().empty()) {
    const std::size_t i = check.decision.index;
    record.is_secret = ContainsApiKey(check, check.uses()[i].key, check.matched(i).rule);
  }
  // A key that is shown as its hash is not recorded.
  const bool hashed = check.Find("api_key_hash").has_value();
  std::size_t count = 0;
  for (const Attribute& attribute : check.matched_attributes()) {
    if (count == room.size()) break;
    if (!hashed || attribute.name != "api_key") room[count++] = attribute;
  }
  record.attributes = {room.data(), count};
}

DenialFacts FactsOf(const telemetry::DecisionRecord& record, std::uint32_t rules_fingerprint) {
  using std::chrono::milliseconds;
  return {.time = std::chrono::floor<milliseconds>(record.time),
          .limit_hash = HashOfLimit(record.rule, record.limit),
          .rules_fingerprint = rules_fingerprint,
          .degraded = record.degraded,
          .cap = record.cap,
          .remaining = record.remaining,
          .cost = record.cost,
          .wait = record.wait};
}

void RecordCall(telemetry::LoopInsight& insight, Protocol protocol, const CheckRequest& check,
                WallTime now, std::uint64_t rules) {
  if (check.ruling == Ruling::kInvalid) return;
  if (check.allowed) {
    if (const std::uint32_t weight = insight.SampleAllowed(); weight > 0) {
      CountAllowed(insight, check, weight);
    }
    if (!insight.RecordsAllowed()) return;
  } else {
    const std::uint32_t weight = insight.SampleDenied();
    if (weight > 0 && !check.uses().empty()) {
      insight.CountDenied(ConsumerOf(check, check.decision.index), weight);
    }
    if (weight == 0 && !insight.RecordsAllDenials()) return insight.CountDropped();
  }
  if (insight.DropIfFull()) return;
  telemetry::DecisionRecord record = RecordOf(protocol, check, now, rules);
  RecordAttributes room;
  AddAttributes(check, room, record);
  insight.Record(record);
}

}  // namespace sluice::api

#include <memory>
#include <optional>
#include <string>

#include "algo/algorithm_info.h"
#include "answer/http_answer.h"
#include "api/admin/admin_services.h"
#include "api/admin/insight_services.h"
#include "api/admin/key_json.h"
#include "api/admin/top_report.h"
#include "api/http/call_fields.h"
#include "api/http/check_body.h"
#include "api/http/json_body.h"
#include "api/http/loop.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/labels.h"
#include "base/timestamp.h"
#include "match/entry_text.h"
#include "match/explain.h"

/// The state of one caller: /admin/v1/keys:lookup.
namespace sluice::api {
namespace {

using limiter::CheckRequest;
using telemetry::TopRow;

constexpr telemetry::TopWindow kRecentWindow = telemetry::TopWindow::kTenMinutes;

// The state of a lookup until it is answered.
struct Lookup {
  KeyDetail detail = KeyDetail::kShortened;
  bool has_recent = false;
  TopReport allowed{};  ///< Of this node, in kRecentWindow.
  TopReport denied{};
};

// Explaining takes about a microsecond per rule, on the event loop.
constexpr std::size_t kMostRulesExplained = 2000;
constexpr std::size_t kMostReasonsShown = 200;

std::string_view NameOf(match::Listed listed) {
  return listed == match::Listed::kAllowed ? "allow" : "deny";
}

// A consumer that has no row may have as much as the bound of those that are absent.
void AppendRecentCount(std::string_view name, const TopReport& report,
                       const telemetry::PairText& wanted, JsonWriter& json) {
  std::uint64_t count = 0;
  std::uint64_t error = report.slice.max_absent;
  for (const TopRow& row : report.slice.rows) {
    if (row.rule != wanted.rule() || row.key != wanted.key()) continue;
    count = row.count;
    error = row.Error();
    break;
  }
  json.Key(name).BeginObject();
  json.Key("count").Uint(count);
  json.Key("error").Uint(error);
  json.EndObject();
}

void AppendRecent(const Lookup& lookup, std::string_view rule, const Key& key, JsonWriter& json) {
  json.Key("recent");
  if (!lookup.has_recent) {
    json.Null();
    return;
  }
  telemetry::PairText wanted;
  wanted.Set(rule, key.tag, key.rest, false);
  json.BeginObject();
  json.Key("window").String(LabelOf(kRecentWindow));
  json.Key("from").String(FormatTimestamp(lookup.denied.from));
  AppendRecentCount("allowed", lookup.allowed, wanted, json);
  AppendRecentCount("denied", lookup.denied, wanted, json);
  json.EndObject();
}

void AppendInspectedLimit(const CheckRequest& check, std::size_t i, AdminServices& admin,
                          const Lookup& lookup, JsonWriter& json) {
  const store::KeyUse& use = check.uses()[i];
  const match::MatchedLimit& matched = check.matched(i);
  const store::Inspection& inspection = check.inspection(i);
  json.BeginObject();
  json.Key("rule").String(matched.rule->id);
  json.Key("name").String(matched.limit->name);
  json.Key("type").String(matched.limit->type);
  AppendKeyValues(use.key, lookup.detail, json);
  json.Key("algorithm").String(algo::InfoOf(use.limit->algorithm()).public_name);
  json.Key("shadow").Bool(use.mode == Mode::kShadow);
  json.Key("rejects_all").Bool(matched.limit->reject_all);
  json.Key("live").Bool(inspection.live);
  json.Key("limit").Int(use.verdict.limit);
  json.Key("used").Int(use.verdict.limit - inspection.level - inspection.leased);
  json.Key("remaining").Int(use.verdict.remaining);
  json.Key("reset_after_ms").Int(MillisOf(use.verdict.reset_after));
  json.Key("grant").Int(inspection.grant);
  json.Key("expiring_grant").Int(inspection.expiring_grant);
  json.Key("grant_expires_at");
  AppendTimeOrNull(inspection.expiring_grant > 0 ? std::optional<WallTime>(inspection.grant_expires)
                                                 : std::nullopt,
                   json);
  json.Key("leased").Int(inspection.leased);
  AppendSeenTimes(admin.FindSeen(use.key), json);
  AppendRecent(lookup, matched.rule->id, use.key, json);
  json.EndObject();
}

// Of a large file, only the rules that match are listed.
void AppendExplanation(CheckRequest& check, const match::RuleSet& rules, WallTime now,
                       JsonWriter& json) {
  const bool is_large = rules.file().rules.size() > kMostRulesExplained;
  std::size_t shown = 0;
  bool is_complete = true;
  json.Key("explanation").BeginArray();
  const auto append = [&](std::string_view rule, match::RuleOutcome outcome, std::string_view why) {
    if (++shown > kMostReasonsShown) {
      is_complete = false;
      return;
    }
    json.BeginObject();
    json.Key("rule").String(rule);
    json.Key("outcome").String(LabelOf(outcome));
    json.Key("why").String(why);
    json.EndObject();
  };
  if (is_large) {
    is_complete = false;
    const rules::Rule* last = nullptr;
    for (const match::MatchedLimit& matched : check.match().limits()) {
      if (matched.rule != last) append(matched.rule->id, match::RuleOutcome::kMatched, {});
      last = matched.rule;
    }
  } else {
    const match::Explanation explanation = match::Explain(rules, check.GatherAttributes(), 0, now);
    for (const bool matches : {true, false}) {
      for (const match::ExplainedRule& one : explanation.rules) {
        if ((one.outcome == match::RuleOutcome::kMatched) != matches) continue;
        append(one.rule->id, one.outcome,
               one.override_taken != nullptr
                   ? "override for '" + one.override_taken->whose.text + "'"
                   : one.why_not);
      }
    }
  }
  json.EndArray();
  json.Key("explanation_complete").Bool(is_complete);
}

void AppendEntries(HttpLoop& loop, CheckRequest& check, KeyDetail detail, JsonWriter& json) {
  ServerServices& services = loop.services();
  json.Key("entries").BeginArray();
  for (const match::LiveEntry* const live :
       services.limiter().FindEntries(check.GatherAttributes(), services.now())) {
    json.BeginObject();
    json.Key("id").String(live->entry.id);
    match::AppendMembers(live->entry, json, [detail](std::string_view key) {
      return ShownKey(std::string(key), detail);
    });
    json.EndObject();
  }
  json.EndArray();
}

void AnswerLookup(HttpCall& call, std::string& out) {
  if (!WasDone(call, out)) return;
  CheckRequest& check = call.part(0).check;
  ServerServices& services = call.loop.services();
  const auto& lookup = *static_cast<const Lookup*>(call.kept.get());
  wire::HttpResponse response(out, 200, services.http_date(), call.response_options);
  JsonWriter json(response.BeginBody("application/json"));
  json.BeginObject();
  json.Key("listed");
  const match::Listed listed = check.match().listed();
  listed == match::Listed::kNo ? json.Null() : json.String(NameOf(listed));
  json.Key("limits").BeginArray();
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    AppendInspectedLimit(check, i, services.admin(), lookup, json);
  }
  json.EndArray();
  AppendEntries(call.loop, check, lookup.detail, json);
  if (const auto rules = services.admin().rules().Active().value) {
    AppendExplanation(check, *rules, services.limiter().RuleTime(services.now()), json);
  }
  json.EndObject();
  response.EndBody();
}

}  // namespace

void RunLookUpKey(HttpExchange& exchange) {
  Problem problem;
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  HttpCall& call = exchange.MakeCall(AnswerLookup);
  HttpCall::Part& part = call.Add();
  part.check.operation = store::Operation::kInspect;
  const auto lookup = std::make_shared<Lookup>();
  lookup->detail = DetailFor(exchange);
  call.kept = lookup;
  if (!body->Only({"attributes", "key"}) || !ReadCaller(exchange, *body, part)) {
    return exchange.RefuseCall(problem);
  }
  InsightServices* const insight = exchange.admin().insight();
  if (insight == nullptr) return;
  // Without the counts if too many tasks wait.
  call.work = [insight, lookup](const std::function<void()>& done) {
    const bool runs = insight->Run(
        [lookup](InsightReader& reader) {
          lookup->has_recent = true;
          lookup->allowed = ReportOf(reader.state, TopBy::kAllowed, kRecentWindow);
          lookup->denied = ReportOf(reader.state, TopBy::kDenied, kRecentWindow);
        },
        done);
    if (!runs) done();
  };
}

}  // namespace sluice::api

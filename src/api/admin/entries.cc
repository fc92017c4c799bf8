#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "api/admin/control_json.h"
#include "api/admin/entry_change.h"
#include "api/admin/key_text.h"
#include "api/admin/task_route.h"
#include "api/http/routes.h"
#include "base/duration.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/parse_number.h"
#include "base/timestamp.h"
#include "base/url.h"
#include "control/entity_tag.h"
#include "control/entry_service.h"
#include "control/propagation.h"
#include "control/record.h"
#include "control/rule_service.h"
#include "simulate/impact.h"
#include "simulate/traffic_sampler.h"

/// Live entries: /admin/v1/entries.
namespace sluice::api {
namespace {

using control::EntryChangeResult;
using match::Entry;
using match::LiveEntry;

constexpr std::size_t kMostPerPage = 1000;
constexpr Micros kLongestEntryWait = std::chrono::seconds(30);
constexpr std::size_t kLongestTags = 1024;

struct ChangeOptions {
  bool dry_run = false;
  std::optional<Micros> wait;
};

Problem BadEntryParameter(std::string_view name, std::string_view detail) {
  return {.code = ProblemCode::kInvalidParameter,
          .field = std::string(name),
          .detail = std::string(detail)};
}

// Calls `take` for each parameter of the query, which returns the problem of one. False: the
// request was refused.
template <typename Take>
bool ReadEntryQuery(HttpExchange& exchange, const Take& take) {
  const std::string_view query = exchange.request.query;
  QueryParameters parameter(query, exchange.loop.Room(query.size()));
  while (parameter.Next()) {
    const std::string problem = take(parameter);
    if (problem.empty()) continue;
    exchange.Refuse(BadEntryParameter(parameter.name(), problem));
    return false;
  }
  if (!parameter.failed()) return true;
  exchange.Refuse(BadEntryParameter({}, "the query has invalid percent-encoding"));
  return false;
}

bool ReadChangeOptions(HttpExchange& exchange, ChangeOptions& options) {
  return ReadEntryQuery(exchange, [&](const QueryParameters& parameter) -> std::string {
    const std::string_view text = parameter.value();
    if (parameter.name() == "dry_run") {
      options.dry_run = !parameter.has_value() || text == "1" || text == "true";
      return options.dry_run || text == "0" || text == "false" ? "" : "must be 1 or 0";
    }
    if (parameter.name() != "wait") return "unknown parameter: dry_run and wait are known";
    options.wait = ParseDuration(text);
    const bool is_valid =
        options.wait && *options.wait >= Micros{0} && *options.wait <= kLongestEntryWait;
    return is_valid ? "" : "must be a duration up to 30s, such as 2s";
  });
}

void AppendEntry(const Entry& entry, std::int64_t last_used, const identity::Principal& principal,
                 JsonWriter& json) {
  json.BeginObject();
  json.Key("id").String(entry.id);
  match::AppendMembers(entry, json,
                       [&](std::string_view key) { return KeyForPrincipal(principal, key); });
  json.Key("last_used");
  if (last_used == 0) {
    json.Null();
  } else {
    json.String(FormatTimestamp(WallTime(std::chrono::seconds(last_used))));
  }
  json.EndObject();
}

void AppendEntry(const LiveEntry& live, const identity::Principal& principal, JsonWriter& json) {
  AppendEntry(live.entry, live.last_used.load(std::memory_order_relaxed), principal, json);
}

void AppendOptionalFlag(std::optional<bool> value, JsonWriter& json) {
  value ? json.Bool(*value) : json.Null();
}

// The last minutes of this node's traffic through the rules, with the entries before and after.
void AppendEntryImpact(ControlServices& services, const EntryContext& context,
                       const EntryChangeRequest& request, JsonWriter& json) {
  control::ChangeImpact impact{.unavailable_reason = "control.traffic_sample is false"};
  if (services.traffic != nullptr && context.rules != nullptr) {
    const auto after = services.entries.Preview({.put = request.put, .remove = request.remove});
    simulate::ImpactResult result = simulate::EvaluateImpact(
        services.traffic->Take(context.now), {*context.rules, services.entries.Current()},
        {*context.rules, after});
    impact = {.unavailable_reason = std::move(result.unavailable_reason)};
    if (result.impact) {
      impact.newly_denied_ratio = result.impact->newly_denied_ratio();
      impact.details = std::make_shared<const simulate::Impact>(*std::move(result.impact));
    }
  }
  AppendImpact(impact, json);
}

TaskReply ReplyOf(ControlServices& services, const EntryContext& context,
                  const EntryChangeRequest& request, const EntryChangeResult& result,
                  const control::Propagation* propagation = nullptr) {
  TaskReply reply;
  JsonWriter json(reply.body);
  json.BeginObject();
  json.Key("dry_run").Bool(request.dry_run);
  json.Key("created").Uint(result.created);
  json.Key("replaced").Uint(result.replaced);
  json.Key("removed").Uint(result.removed);
  if (!request.dry_run) {
    json.Key("replicated");
    AppendOptionalFlag(result.replicated, json);
  }
  if (!request.is_batch && !request.put.empty()) {
    json.Key("entry");
    AppendEntry(request.put.front(), 0, context.principal, json);
  }
  if (request.dry_run) AppendEntryImpact(services, context, request, json);
  if (propagation != nullptr) {
    AppendPropagation(*propagation, json);
    reply.status = propagation->complete() ? 200 : 202;
  }
  json.EndObject();
  if (!request.dry_run && !request.is_batch && !request.put.empty()) {
    reply.entity_tag = control::RecordTag(result.first_sequence, result.cursor.time);
  }
  return reply;
}

// The state of a change until it is answered.
struct PendingChange {
  EntryContext context;
  EntryChangeRequest request;
  ChangeOptions options;
  std::string body;
};

TaskReply Change(ControlServices& services, const std::shared_ptr<PendingChange>& pending) {
  EntryChangeRequest& request = pending->request;
  request.dry_run = pending->options.dry_run;
  const EntryChangeReply changed = ChangeEntries(services, pending->context, request);
  if (changed.problem) return ReplyWith(*changed.problem);
  TaskReply reply = ReplyOf(services, pending->context, request, changed.result);
  if (pending->options.wait && !request.dry_run) {
    // If too many wait, this is the answer: the change is made, but maybe not everywhere yet.
    reply.status = 202;
    reply.wait = [pending, result = changed.result](ControlServices& others) {
      const auto propagation = others.rules.WaitForRecords(result.cursor, *pending->options.wait);
      TaskReply waited = ReplyOf(others, pending->context, pending->request, result,
                                 propagation ? &*propagation : nullptr);
      if (!propagation) waited.status = 202;
      return waited;
    };
  }
  return reply;
}

std::optional<Problem> ParseEntryBody(const std::string& body, JsonDocument& document,
                                      std::optional<JsonValue>& json) {
  json = document.Parse(body);
  if (json) return std::nullopt;
  return Problem{
      .code = ProblemCode::kInvalidBody,
      .detail = std::string(document.error()) + " at byte " + std::to_string(document.error_at())};
}

std::optional<Problem> ReadBatch(PendingChange& pending) {
  JsonDocument document;
  std::optional<JsonValue> json;
  if (auto problem = ParseEntryBody(pending.body, document, json)) return problem;
  const auto wrong = [](ProblemCode code, std::string field, std::string detail) {
    return Problem{.code = code, .field = std::move(field), .detail = std::move(detail)};
  };
  if (!json->is_object()) return wrong(ProblemCode::kInvalidBody, {}, "must be an object");
  for (const JsonValue member : *json) {
    if (member.name() == "entries") {
      match::EntryListResult read = match::ReadEntries(member, pending.context.Defaults());
      if (read.error) return ProblemOf(*read.error);
      pending.request.put = std::move(read.entries);
    } else if (member.name() == "remove") {
      bool is_valid = member.is_array();
      for (const JsonValue id : member) {
        is_valid = is_valid && id.String() && match::IsEntryId(*id.String());
        if (!is_valid) break;
        pending.request.remove.emplace_back(*id.String());
      }
      if (!is_valid) return wrong(ProblemCode::kInvalidField, "remove", "must be a list of ids");
    } else if (member.name() != "cursor") {
      return wrong(ProblemCode::kUnknownField, std::string(member.name()), "unknown field");
    }
  }
  const std::size_t count = pending.request.put.size() + pending.request.remove.size();
  if (count == 0) return wrong(ProblemCode::kMissingField, "entries", "has no entries");
  if (count > control::kMaxRecordsPerWrite) {
    return wrong(ProblemCode::kInvalidField, "entries",
                 "a request changes at most " + std::to_string(control::kMaxRecordsPerWrite));
  }
  std::unordered_set<std::string_view> ids;
  for (const match::Entry& entry : pending.request.put) ids.insert(entry.id);
  for (const std::string& id : pending.request.remove) {
    if (ids.insert(id).second) continue;
    return wrong(ProblemCode::kDuplicateField, "remove", "'" + id + "' is there twice");
  }
  return std::nullopt;
}

std::shared_ptr<PendingChange> BeginChange(HttpExchange& exchange) {
  auto pending = std::make_shared<PendingChange>();
  if (!ReadChangeOptions(exchange, pending->options)) return nullptr;
  pending->context = MakeEntryContext(exchange.services(), exchange.principal(), exchange.Origin());
  pending->body = exchange.request.body;
  return pending;
}

// The same for one entry, which the request may want to be in a certain state.
std::shared_ptr<PendingChange> BeginConditionalChange(HttpExchange& exchange) {
  auto pending = BeginChange(exchange);
  if (!pending) return nullptr;
  using Header = std::pair<std::string_view, std::optional<std::string> EntryChangeRequest::*>;
  for (const auto& [name, header] : {Header{"if-match", &EntryChangeRequest::if_match},
                                     Header{"if-none-match", &EntryChangeRequest::if_none_match}}) {
    const wire::HttpHeader* const found = exchange.request.Find(name);
    if (found == nullptr) continue;
    if (found->value.size() > kLongestTags) {
      exchange.Refuse(BadEntryParameter(name, "is too long"));
      return nullptr;
    }
    pending->request.*header = std::string(found->value);
  }
  return pending;
}

std::optional<std::string> ReadEntryId(HttpExchange& exchange) {
  auto id = ReadPathParameter(exchange, "id");
  if (!id || match::IsEntryId(*id)) return id;
  exchange.Refuse({.code = ProblemCode::kInvalidParameter,
                   .field = "id",
                   .detail = "an id has 1 to 128 letters, digits and . _ : @ -"});
  return std::nullopt;
}

// Keys are compared by their hashes, where only these are known.
void HashWanted(const HttpExchange& exchange, std::string& wanted) {
  const identity::Identifier& identifier = exchange.services().identifier();
  constexpr std::string_view kApiKey = "api_key=";
  if (!identifier.hashes_keys() || !wanted.starts_with(kApiKey)) return;
  identity::KeyDigest::Buffer room;
  wanted = "api_key_hash=" +
           std::string(identifier.ShownKey(std::string_view(wanted).substr(kApiKey.size()), room));
}

bool ReadListQuery(HttpExchange& exchange, control::EntryQuery& query) {
  return ReadEntryQuery(exchange, [&](const QueryParameters& parameter) -> std::string {
    const std::string_view name = parameter.name();
    const std::string_view text = parameter.value();
    if (name == "match") {
      query.match = text;
      HashWanted(exchange, query.match);
      return "";
    }
    if (name == "cursor") {
      query.after = text;
      return match::IsEntryId(text) ? "" : "must be the `cursor` of the page before";
    }
    if (name == "limit") {
      const auto limit = ParseNumber<std::size_t>(text);
      query.limit = limit.value_or(0);
      return query.limit >= 1 && query.limit <= kMostPerPage ? "" : "must be from 1 to 1000";
    }
    if (name != "effect") return "unknown parameter: match, effect, cursor and limit are known";
    for (std::size_t i = 0; i < kLabels<match::EntryEffect>.size(); ++i) {
      if (kLabels<match::EntryEffect>[i] == text) query.effect = static_cast<match::EntryEffect>(i);
    }
    return query.effect ? "" : "must be block, allow, unlimited, limit or multiply";
  });
}

}  // namespace

void RunPutEntry(HttpExchange& exchange) {
  const auto id = ReadEntryId(exchange);
  if (!id) return;
  const auto pending = BeginConditionalChange(exchange);
  if (!pending) return;
  RunTask(exchange, TaskKind::kRecords, [pending, id = *id](ControlServices& services) {
    JsonDocument document;
    std::optional<JsonValue> json;
    if (const auto problem = ParseEntryBody(pending->body, document, json))
      return ReplyWith(*problem);
    match::EntryReadResult read = match::ReadEntry(id, *json, pending->context.Defaults());
    if (!read.entry) return ReplyWith(ProblemOf(read.error));
    pending->request.put.push_back(*std::move(read.entry));
    return Change(services, pending);
  });
}

void RunDeleteEntry(HttpExchange& exchange) {
  auto id = ReadEntryId(exchange);
  if (!id) return;
  const auto pending = BeginConditionalChange(exchange);
  if (!pending) return;
  pending->request.remove.push_back(*std::move(id));
  RunTask(exchange, TaskKind::kRecords,
          [pending](ControlServices& services) { return Change(services, pending); });
}

void RunChangeEntries(HttpExchange& exchange) {
  const auto pending = BeginChange(exchange);
  if (!pending) return;
  pending->request.is_batch = true;
  RunTask(exchange, TaskKind::kRecords, [pending](ControlServices& services) {
    if (const auto problem = ReadBatch(*pending)) return ReplyWith(*problem);
    return Change(services, pending);
  });
}

void RunGetEntry(HttpExchange& exchange) {
  auto id = ReadEntryId(exchange);
  if (!id) return;
  RunTask(exchange, TaskKind::kRead,
          [id = *std::move(id), principal = exchange.principal()](ControlServices& services) {
            const auto found = services.entries.Find(id);
            if (found == nullptr) return ReplyWith(Problem{.code = ProblemCode::kEntryNotFound});
            TaskReply reply;
            JsonWriter json(reply.body);
            AppendEntry(*found, principal, json);
            reply.entity_tag = TagOfEntry(services, id);
            return reply;
          });
}

void RunListEntries(HttpExchange& exchange) {
  control::EntryQuery query;
  // A part of a key would let those who see keys shortened guess the rest.
  query.parts_of_values = exchange.principal().Has(Role::kOperator);
  if (!ReadListQuery(exchange, query)) return;
  RunTask(exchange, TaskKind::kRead,
          [query = std::move(query), principal = exchange.principal()](ControlServices& services) {
            const control::EntryPage page = services.entries.List(query);
            TaskReply reply;
            JsonWriter json(reply.body);
            json.BeginObject().Key("entries").BeginArray();
            for (const auto& live : page.entries) AppendEntry(*live, principal, json);
            json.EndArray().Key("cursor");
            page.next.empty() ? json.Null() : json.String(page.next);
            json.EndObject();
            return reply;
          });
}

}  // namespace sluice::api

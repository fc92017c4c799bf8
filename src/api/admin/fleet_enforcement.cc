#include "api/admin/fleet_enforcement.h"

#include <chrono>
#include <optional>
#include <utility>

#include "api/admin/control_json.h"
#include "api/admin/task_route.h"
#include "api/http/json_body.h"
#include "api/http/routes.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/timestamp.h"
#include "control/record_service.h"

/// The enforcement of all servers: /admin/v1/enforcement.
namespace sluice::api {
namespace {

using control::RecordKind;
using limiter::Enforcement;

// "never" must be said.
constexpr Micros kUsualLifetime = std::chrono::hours(24);
constexpr std::size_t kLongestMessage = 1000;

void AppendFleet(const std::optional<control::Record>& record, JsonWriter& json) {
  const auto fleet = record ? ParseFleetEnforcement(record->text) : std::nullopt;
  if (!fleet) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Key("enforcement").String(LabelOf(fleet->enforcement));
  json.Key("author").String(fleet->author);
  json.Key("message").String(fleet->message);
  json.Key("since").String(FormatTimestamp(record->time));
  json.Key("expires_at");
  record->expires_at ? json.String(FormatTimestamp(*record->expires_at)) : json.Null();
  json.EndObject();
}

// The enforcement of this server, if known, and the record for all servers.
TaskReply ReplyWithEnforcement(ControlServices& services, std::optional<Enforcement> effective,
                               const control::RecordChangeResult* change) {
  TaskReply reply;
  JsonWriter json(reply.body);
  json.BeginObject();
  if (effective) json.Key("enforcement").String(LabelOf(*effective));
  json.Key("fleet");
  AppendFleet(services.records.Find(RecordKind::kEnforcement, kFleetEnforcementId), json);
  if (change != nullptr) {
    json.Key("replicated");
    change->written.replicated ? json.Bool(*change->written.replicated) : json.Null();
    json.Key("applied").Bool(change->applied);
  }
  json.EndObject();
  return reply;
}

struct EnforcementChange {
  FleetEnforcement fleet{};
  bool has_expiry = false;
  std::optional<WallTime> expires_at{};  ///< With `has_expiry`, not set: never.
};

std::optional<EnforcementChange> ReadChange(HttpExchange& exchange, Problem& problem) {
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body || !body->Only({"enforcement", "expires_at", "message"})) return std::nullopt;
  EnforcementChange change;
  const auto name = body->Text("enforcement");
  if (!name) {
    if (!body->failed()) body->Missing("enforcement");
    return std::nullopt;
  }
  const auto enforcement = ParseEnforcement(*name);
  if (!enforcement) {
    body->Fail(ProblemCode::kInvalidField, "enforcement", "must be on, shadow or off");
    return std::nullopt;
  }
  change.fleet.enforcement = *enforcement;
  if (const auto expiry = body->object().Find("expires_at")) {
    change.has_expiry = true;
    if (!expiry->is_null()) {
      const auto text = expiry->String();
      change.expires_at = text ? ParseTimestamp(*text) : std::nullopt;
      if (!change.expires_at || *change.expires_at <= exchange.services().now()) {
        body->Fail(ProblemCode::kInvalidField, "expires_at",
                   "must be a time to come such as 2030-01-31T12:00:00Z, or null for never");
        return std::nullopt;
      }
    }
  }
  if (body->Has("message")) {
    const auto message = body->Text("message");
    if (!message) return std::nullopt;
    if (message->size() > kLongestMessage) {
      body->Fail(ProblemCode::kInvalidField, "message", "has more than 1000 bytes");
      return std::nullopt;
    }
    change.fleet.message = *message;
  }
  return change;
}

}  // namespace

std::optional<Enforcement> ParseEnforcement(std::string_view name) {
  for (const Enforcement one : {Enforcement::kOn, Enforcement::kShadow, Enforcement::kOff}) {
    if (LabelOf(one) == name) return one;
  }
  return std::nullopt;
}

std::string ToJson(const FleetEnforcement& fleet) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Key("enforcement").String(LabelOf(fleet.enforcement));
  json.Key("author").String(fleet.author);
  json.Key("message").String(fleet.message);
  json.EndObject();
  return text;
}

std::optional<FleetEnforcement> ParseFleetEnforcement(std::string_view json) {
  JsonDocument document;
  const auto object = document.Parse(json);
  if (!object || !object->is_object()) return std::nullopt;
  const auto text = [&object](std::string_view name) {
    const auto member = object->Find(name);
    return std::string(member ? member->String().value_or("") : "");
  };
  const auto enforcement = ParseEnforcement(text("enforcement"));
  if (!enforcement) return std::nullopt;
  return FleetEnforcement{
      .enforcement = *enforcement, .author = text("author"), .message = text("message")};
}

void RunGetFleetEnforcement(HttpExchange& exchange) {
  RunTask(exchange, TaskKind::kRead,
          [effective = exchange.admin().enforcement()](ControlServices& services) {
            return ReplyWithEnforcement(services, effective, nullptr);
          });
}

void RunPutFleetEnforcement(HttpExchange& exchange) {
  Problem problem;
  auto change = ReadChange(exchange, problem);
  if (!change) return exchange.Refuse(problem);
  const Enforcement wanted = change->fleet.enforcement;
  control::RecordAudit audit{.origin = exchange.Origin(),
                             .action = "enforcement.set",
                             .target = "fleet " + std::string(LabelOf(wanted)),
                             .message = change->fleet.message};
  change->fleet.author = audit.origin.author;
  const std::optional<WallTime> expires_at =
      change->has_expiry ? change->expires_at
                         : std::optional(exchange.services().now() + kUsualLifetime);
  control::RecordWrite write{.kind = RecordKind::kEnforcement,
                             .id = std::string(kFleetEnforcementId),
                             .text = ToJson(change->fleet),
                             .expires_at = expires_at};
  RunTask(exchange, TaskKind::kRecords,
          [write = std::move(write), audit = std::move(audit), wanted,
           before = exchange.admin().enforcement()](ControlServices& services) {
            const auto written = services.records.Write(std::span(&write, 1), audit);
            if (!written) return ReplyWith(written.error());
            return ReplyWithEnforcement(services, written->applied ? wanted : before, &*written);
          });
}

void RunDeleteFleetEnforcement(HttpExchange& exchange) {
  control::RecordAudit audit{
      .origin = exchange.Origin(), .action = "enforcement.reset", .target = "fleet"};
  control::RecordWrite write{
      .kind = RecordKind::kEnforcement, .id = std::string(kFleetEnforcementId), .remove = true};
  RunTask(exchange, TaskKind::kRecords,
          [write = std::move(write), audit = std::move(audit)](ControlServices& services) {
            if (!services.records.Find(RecordKind::kEnforcement, kFleetEnforcementId)) {
              return ReplyWith(Problem{.code = ProblemCode::kNotFound,
                                       .detail = "no enforcement is set for all servers"});
            }
            const auto written = services.records.Write(std::span(&write, 1), audit);
            if (!written) return ReplyWith(written.error());
            return ReplyWithEnforcement(services, std::nullopt, &*written);
          });
}

}  // namespace sluice::api

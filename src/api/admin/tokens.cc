#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/admin/audit_trail.h"
#include "api/admin/task_route.h"
#include "api/http/json_body.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/timestamp.h"
#include "control/record_service.h"
#include "identity/access_token.h"

/// Tokens that administrators create: /admin/v1/tokens.
namespace sluice::api {
namespace {

using control::RecordKind;
using identity::AccessToken;

// For tokens whose creation does not say.
constexpr auto kTokenLifetime = std::chrono::days(90);
constexpr std::size_t kMostTokens = 10'000;

// "expires_at": a time, or null for never.
std::optional<WallTime> ReadExpiry(JsonFields& fields, WallTime now) {
  const auto value = fields.object().Find("expires_at");
  if (!value) return now + kTokenLifetime;
  if (value->is_null()) return kMaxTime;
  const auto text = fields.Text("expires_at");
  const auto time = text ? ParseTimestamp(*text) : std::nullopt;
  if (time && *time > now) return time;
  fields.Fail(ProblemCode::kInvalidField, "expires_at",
              "must be a time to come such as 2030-01-31T12:00:00Z, or null for never");
  return std::nullopt;
}

std::optional<AccessToken> ReadToken(HttpExchange& exchange, Problem& problem) {
  auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body || !body->Only({"name", "role", "scope", "expires_at"})) return std::nullopt;
  const WallTime now = exchange.services().now();
  const auto name = body->Text("name");
  const auto role = body->Text("role");
  const auto scope = body->Text("scope");
  const auto expires_at = ReadExpiry(*body, now);
  if (body->failed() || !expires_at) return std::nullopt;
  AccessToken token{.name = std::string(name.value_or("")),
                    .role = identity::ParseRole(role.value_or("")).value_or(Role::kNone),
                    .scope = std::string(scope.value_or("")),
                    .author = exchange.Origin().author,
                    .created = now,
                    .expires_at = *expires_at};
  if (const auto wrong = identity::FindTokenProblem(token)) {
    const auto colon = wrong->find(':');
    problem = {.code = ProblemCode::kInvalidField,
               .field = wrong->substr(0, colon),
               .detail = wrong->substr(colon + 2)};
    return std::nullopt;
  }
  return token;
}

void AppendTimeOrNull(std::string_view name, std::optional<WallTime> time, JsonWriter& json) {
  json.Key(name);
  time ? json.String(FormatTimestamp(*time)) : json.Null();
}

// Writes the members of a token; never its secret or its hash.
void AppendToken(const AccessToken& token, JsonWriter& json) {
  json.Key("id").String(token.id);
  json.Key("name").String(token.name);
  json.Key("role").String(LabelOf(token.role));
  json.Key("scope").String(token.scope);
  json.Key("author").String(token.author);
  json.Key("created_at").String(FormatTimestamp(token.created));
  AppendTimeOrNull("expires_at",
                   token.expires_at == kMaxTime ? std::nullopt : std::optional(token.expires_at),
                   json);
}

void AppendChange(const control::RecordChangeResult& change, JsonWriter& json) {
  json.Key("applied").Bool(change.applied);
  json.Key("replicated");
  change.written.replicated ? json.Bool(*change.written.replicated) : json.Null();
}

std::string DescribeForAudit(const AccessToken& token) {
  std::string text = token.id + " " + token.name + ", role " + std::string(LabelOf(token.role));
  if (!token.scope.empty()) text += ", scope " + token.scope;
  return text;
}

TaskReply WriteNewToken(AccessToken token, const control::Origin& origin,
                        ControlServices& services) {
  const std::string secret = identity::GenerateSecret(token);
  control::RecordWrite write{.kind = RecordKind::kToken,
                             .id = token.id,
                             .text = identity::ToRecordText(token),
                             .expected = 0};
  if (token.expires_at != kMaxTime) write.expires_at = token.expires_at;
  const auto written = services.records.Write(
      {&write, 1}, {.origin = origin, .action = "token.create", .target = DescribeForAudit(token)});
  if (!written) return ReplyWith(written.error());
  if (written->written.outcome == control::RecordWriteOutcome::kTooMany) {
    return ReplyWith(Problem{.code = ProblemCode::kTooManyTokens});
  }
  // Two random ids were the same, which does not happen.
  if (written->written.outcome != control::RecordWriteOutcome::kWritten) {
    return ReplyWith(Problem{.code = ProblemCode::kBusy});
  }
  TaskReply reply;
  reply.status = 201;
  JsonWriter json(reply.body);
  json.BeginObject();
  json.Key("token").String(secret);
  AppendToken(token, json);
  AppendChange(*written, json);
  json.EndObject();
  return reply;
}

TaskReply ListTokens(const identity::TokenSet* used, ControlServices& services) {
  TaskReply reply;
  JsonWriter json(reply.body);
  json.BeginObject().Key("tokens").BeginArray();
  for (const control::Record& record :
       services.records.List(RecordKind::kToken, "", kMostTokens, {})) {
    const auto token = identity::ParseRecordText(record.id, record.text);
    if (!token) continue;
    json.BeginObject();
    AppendToken(*token, json);
    AppendTimeOrNull("last_used_at", used != nullptr ? used->LastUse(token->id) : std::nullopt,
                     json);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return reply;
}

TaskReply RemoveToken(const std::string& id, const control::Origin& origin,
                      ControlServices& services) {
  const auto record = services.records.Find(RecordKind::kToken, id);
  if (!record) return ReplyWith(Problem{.code = ProblemCode::kTokenNotFound, .field = "id"});
  const auto token = identity::ParseRecordText(id, record->text);
  const control::RecordWrite write{.kind = RecordKind::kToken, .id = id, .remove = true};
  const auto written =
      services.records.Write({&write, 1}, {.origin = origin,
                                           .action = "token.revoke",
                                           .target = token ? DescribeForAudit(*token) : id});
  if (!written) return ReplyWith(written.error());
  TaskReply reply;
  JsonWriter json(reply.body);
  json.BeginObject().Key("id").String(id);
  AppendChange(*written, json);
  json.EndObject();
  return reply;
}

}  // namespace

void RunCreateToken(HttpExchange& exchange) {
  Problem problem;
  auto token = ReadToken(exchange, problem);
  if (!token) return exchange.Refuse(problem);
  RunTask(exchange, TaskKind::kRecords,
          [token = *std::move(token), origin = exchange.Origin()](ControlServices& services) {
            return WriteNewToken(token, origin, services);
          });
}

void RunListTokens(HttpExchange& exchange) {
  RunTask(exchange, TaskKind::kRead,
          [used = exchange.admin().authenticator().tokens()](ControlServices& services) {
            return ListTokens(used.get(), services);
          });
}

void RunRevokeToken(HttpExchange& exchange) {
  auto id = ReadPathParameter(exchange, "id");
  if (!id) return;
  RunTask(exchange, TaskKind::kRecords,
          [id = *std::move(id), origin = exchange.Origin()](ControlServices& services) {
            return RemoveToken(id, origin, services);
          });
}

// The caller itself: what it may do, and how it has authenticated.
void RunWhoAmI(HttpExchange& exchange) {
  const identity::Principal& principal = exchange.principal();
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("name").String(exchange.Origin().author);
  json.Key("role").String(LabelOf(principal.role));
  json.Key("scope").String(principal.scope);
  json.Key("authentication").String(LabelOf(principal.authentication));
  AppendTimeOrNull(
      "expires_at",
      principal.expires_at == kMaxTime ? std::nullopt : std::optional(principal.expires_at), json);
  json.EndObject();
  exchange.RespondJson(200, body);
}

}  // namespace sluice::api

#include <chrono>
#include <utility>

#include "api/admin/access.h"
#include "api/admin/change_route.h"
#include "api/admin/task_route.h"
#include "api/http/routes.h"
#include "base/ascii.h"
#include "config_text/json_yaml.h"
#include "control/rule_service.h"

/// The rules in force: /admin/v1/rules, single rules and tiers.
namespace sluice::api {
namespace {

using control::ChangeKind;
using rules::TextFormat;
using wire::HttpName;

constexpr std::size_t kFileTagDigits = 12;

// Whether the client prefers JSON. Quality values are ignored: the type that is named first counts.
bool PrefersJson(std::string_view accept) {
  while (!accept.empty()) {
    const std::string_view item = accept.substr(0, accept.find(','));
    accept.remove_prefix(std::min(item.size() + 1, accept.size()));
    const std::string_view type = TrimBlanks(item.substr(0, item.find(';')));
    if (EqualIgnoringCase(type, kJsonType)) return true;
    if (IsYamlType(type)) return false;
  }
  return false;
}

// Whether If-None-Match lists the entity tag. A proxy may have made it weak.
bool IsListed(std::string_view tags, std::string_view tag) {
  return tags == "*" || tags.find(tag) != std::string_view::npos;
}

// The text of a rule file, as a version without a number.
Result<std::optional<control::Version>> ReadRuleFile(ControlServices& services) {
  auto text = services.read_rule_file();
  if (!text) return text.error();
  return std::optional(control::MakeVersion({}, *std::move(text)));
}

std::string TagOf(const control::Version& version) {
  if (version.info.ref.id.number > 0) return EntityTag(version.info.ref);
  return "\"file-" + version.info.ref.hash.substr(0, kFileTagDigits) + '"';
}

TaskReply RenderDocument(const control::Version& version, bool as_json) {
  TaskReply reply;
  reply.entity_tag = TagOf(version);
  if (version.info.ref.id.number > 0) reply.last_modified = version.info.time;
  reply.content_type = as_json ? kJsonType : kYamlType;
  if (!as_json) {
    reply.body = version.text;
    return reply;
  }
  auto json = config_text::YamlAsJson(version.text);
  if (auto* const text = std::get_if<std::string>(&json)) {
    reply.body = std::move(*text);
    return reply;
  }
  return ReplyWith(Problem{.code = ProblemCode::kRulesInvalid,
                           .detail = "the document can't be shown as JSON: " +
                                     std::get<config_text::YamlError>(json).message});
}

// A body without a type is JSON if it begins like an object; see BodyTypeProblem.
TextFormat FormatOf(const wire::HttpRequest& request) {
  const std::string_view type = BodyType(request);
  if (EqualIgnoringCase(type, kJsonType)) return TextFormat::kJson;
  if (IsYamlType(type)) return TextFormat::kYaml;
  return TrimBlanks(request.body).starts_with('{') ? TextFormat::kJson : TextFormat::kYaml;
}

// Of a rule or a tier, `parameter` of the path; empty: of the whole document.
void Change(HttpExchange& exchange, ChangeKind kind, std::string_view parameter) {
  control::ChangeRequest change;
  change.kind = kind;
  if (!parameter.empty()) {
    auto target = ReadPathParameter(exchange, parameter);
    if (!target) return;
    change.target = *std::move(target);
    if (exchange.route->checks_scope && !exchange.principal().Covers(change.target)) {
      return exchange.Refuse({.code = ProblemCode::kForbidden,
                              .field = std::string(parameter),
                              .detail = OutOfScope(exchange.principal())});
    }
  }
  const bool has_text = kind == ChangeKind::kPutDocument || kind == ChangeKind::kPutRule ||
                        kind == ChangeKind::kPutTier;
  if (has_text) {
    if (exchange.request.body.empty()) {
      return exchange.Refuse({.code = ProblemCode::kInvalidBody, .detail = "the body is empty"});
    }
    change.format = FormatOf(exchange.request);
    change.text = exchange.request.body;
  } else if (!exchange.request.body.empty()) {
    return exchange.Refuse(
        {.code = ProblemCode::kInvalidBody, .detail = "this request has no body"});
  }
  RunChange(exchange, std::move(change));
}

}  // namespace

void RunGetDocument(HttpExchange& exchange) {
  const bool as_json = PrefersJson(exchange.request.Get(HttpName::kAccept));
  const std::string known(exchange.request.Get("if-none-match"));
  RunTask(exchange, TaskKind::kRead, [as_json, known](ControlServices& services) {
    const auto current =
        services.read_rule_file ? ReadRuleFile(services) : services.rules.GetCurrent();
    if (!current) return ReplyWith(current.error());
    if (!*current) return ReplyWith(Problem{.code = ProblemCode::kNoRules});
    const std::string tag = TagOf(**current);
    if (!known.empty() && IsListed(known, tag)) {
      TaskReply reply;
      reply.status = 304;
      reply.entity_tag = tag;
      return reply;
    }
    return RenderDocument(**current, as_json);
  });
}

void RunPutDocument(HttpExchange& exchange) { Change(exchange, ChangeKind::kPutDocument, {}); }
void RunPutRule(HttpExchange& exchange) { Change(exchange, ChangeKind::kPutRule, "id"); }
void RunDeleteRule(HttpExchange& exchange) { Change(exchange, ChangeKind::kDeleteRule, "id"); }
void RunPutTier(HttpExchange& exchange) { Change(exchange, ChangeKind::kPutTier, "name"); }
void RunDeleteTier(HttpExchange& exchange) { Change(exchange, ChangeKind::kDeleteTier, "name"); }

}  // namespace sluice::api

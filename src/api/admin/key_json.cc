#include "api/admin/key_json.h"

#include <cstddef>

#include "api/admin/key_text.h"
#include "base/timestamp.h"
#include "base/url.h"

namespace sluice::api {
namespace {

std::string Decoded(std::string_view text) {
  std::string decoded;
  return DecodePercent(text, decoded) ? decoded : std::string(text);
}

}  // namespace

std::string ShownKey(const std::string& value, KeyDetail detail) {
  static const identity::Principal kViewer{.role = identity::Role::kViewer};
  return detail == KeyDetail::kWhole || value.empty() ? value : KeyForPrincipal(kViewer, value);
}

KeyDetail DetailFor(const HttpExchange& exchange) {
  return exchange.principal().Has(identity::Role::kOperator) ? KeyDetail::kWhole
                                                             : KeyDetail::kShortened;
}

ScopeNames NamesOf(std::string_view scope) {
  const std::size_t colon = scope.find(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  return {.rule = Decoded(scope.substr(0, colon)), .limit = Decoded(scope.substr(colon + 1))};
}

void RefuseScope(const HttpExchange& exchange) {
  exchange.Refuse({.code = ProblemCode::kForbidden,
                   .field = "rule",
                   .detail = "the client may only change rules whose ids begin with '" +
                             exchange.principal().scope + "'"});
}

void AppendKeyValues(const Key& key, KeyDetail detail, JsonWriter& json) {
  json.Key("key").String(ShownKey(std::string(key.tag), detail));
  json.Key("others").BeginArray();
  for (std::string_view rest = key.rest; !rest.empty();) {
    const std::size_t colon = rest.find(':');
    json.String(ShownKey(Decoded(rest.substr(0, colon)), detail));
    rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
  }
  json.EndArray();
}

void AppendListedKey(const Key& key, KeyDetail detail, JsonWriter& json) {
  const ScopeNames names = NamesOf(key.scope);
  json.Key("rule");
  names.rule.empty() ? json.Null() : json.String(names.rule);
  json.Key("name");
  names.rule.empty() ? json.Null() : json.String(names.limit);
  AppendKeyValues(key, detail, json);
}

void AppendSeenTimes(const std::optional<store::SeenTimes>& times, JsonWriter& json) {
  using Time = std::optional<WallTime>;
  json.Key("first_seen");
  AppendTimeOrNull(times ? Time(times->first) : Time(), json);
  json.Key("last_seen");
  AppendTimeOrNull(times ? Time(times->last) : Time(), json);
  json.Key("last_denied");
  AppendTimeOrNull(times ? times->denied : Time(), json);
}

void AppendTimeOrNull(const std::optional<WallTime>& time, JsonWriter& json) {
  time ? json.String(FormatTimestamp(*time)) : json.Null();
}

}  // namespace sluice::api

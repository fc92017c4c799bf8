#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/admin/admin_services.h"
#include "api/admin/key_json.h"
#include "api/admin/key_services.h"
#include "api/admin/task_route.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/parse_number.h"
#include "base/url.h"

/// The keys of the store: /admin/v1/keys.
namespace sluice::api {
namespace {

constexpr std::size_t kMostKeysListed = 1000;

std::optional<KeyQuery> ReadKeyQuery(HttpExchange& exchange) {
  const std::string_view query = exchange.request.query;
  QueryParameters parameter(query, exchange.loop.Room(query.size()));
  KeyQuery asked;
  while (parameter.Next()) {
    const auto number = ParseNumber<std::size_t>(parameter.value());
    if (parameter.name() == "rule") {
      asked.selector.rule = parameter.value();
    } else if (parameter.name() == "prefix") {
      asked.selector.prefix = parameter.value();
    } else if (parameter.name() == "cursor") {
      asked.cursor = parameter.value();
    } else if (parameter.name() == "limit" && number && *number > 0 && *number <= kMostKeysListed) {
      asked.limit = *number;
    } else {
      exchange.Refuse({.code = ProblemCode::kInvalidParameter,
                       .field = std::string(parameter.name()),
                       .detail = "the query may have rule, prefix, cursor and limit=<1 to 1000>"});
      return std::nullopt;
    }
  }
  if (!parameter.failed()) return asked;
  exchange.Refuse(
      {.code = ProblemCode::kInvalidParameter, .detail = "the query has invalid percent-encoding"});
  return std::nullopt;
}

}  // namespace

bool KeySelector::Matches(const Key& key) const {
  return key.tag.starts_with(prefix) && (!glob || glob->Matches(key.tag)) &&
         (rule.empty() || NamesOf(key.scope).rule == rule);
}

void RunListKeys(HttpExchange& exchange) {
  auto query = ReadKeyQuery(exchange);
  if (!query) return;
  const KeyDetail detail = DetailFor(exchange);
  RunKeyTask(exchange, [query = *std::move(query), detail](KeyServices& services) {
    const auto page = services.ListKeys(query);
    if (!page) return ReplyWithStoreError(page.error());
    TaskReply reply;
    JsonWriter json(reply.body);
    json.BeginObject();
    json.Key("keys").BeginArray();
    for (const ListedKey& listed : page->keys) {
      json.BeginObject();
      AppendListedKey(listed.key.view(), detail, json);
      AppendSeenTimes(listed.times, json);
      json.EndObject();
    }
    json.EndArray();
    json.Key("cursor");
    page->cursor.empty() ? json.Null() : json.String(page->cursor);
    json.Key("complete").Bool(page->complete);
    json.EndObject();
    return reply;
  });
}

}  // namespace sluice::api

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "api/http/exchange.h"
#include "base/json_writer.h"
#include "base/key.h"
#include "store/key_directory.h"

/// Keys of budgets as the admin API shows them.
namespace sluice::api {

/// How much of API keys a reader may see.
enum class KeyDetail : std::uint8_t {
  kShortened,  ///< The beginning: ShortKey.
  kWhole,
};

/// The rule and the limit that a key's scope names; of limits in requests, neither has a name.
struct ScopeNames {
  std::string rule;
  std::string limit;
};
[[nodiscard]] ScopeNames NamesOf(std::string_view scope);

/// Returns a key, or a part of one, for a reader.
[[nodiscard]] std::string ShownKey(const std::string& value, KeyDetail detail);

/// Returns how much the client of a request may see.
[[nodiscard]] KeyDetail DetailFor(const HttpExchange& exchange);

/// Refuses a request of a client whose scope does not include its rule.
void RefuseScope(const HttpExchange& exchange);

/// Writes the members `key` (the first value that the budget is per) and `others` (the rest).
void AppendKeyValues(const Key& key, KeyDetail detail, JsonWriter& json);

/// Writes `rule`, `name` and the members of AppendKeyValues. Both names are null for a limit that a
/// request brought.
void AppendListedKey(const Key& key, KeyDetail detail, JsonWriter& json);

/// Writes the members `first_seen`, `last_seen` and `last_denied`, each a time or null.
void AppendSeenTimes(const std::optional<store::SeenTimes>& times, JsonWriter& json);

/// Writes a time as RFC 3339, or null.
void AppendTimeOrNull(const std::optional<WallTime>& time, JsonWriter& json);

}  // namespace sluice::api

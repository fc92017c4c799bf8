#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "base/json_writer.h"
#include "base/key.h"

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

/// Writes the members `key` (the first value that the budget is per) and `others` (the rest).
void AppendKeyValues(const Key& key, KeyDetail detail, JsonWriter& json);

/// Writes a time as RFC 3339, or null.
void AppendTime(const std::optional<WallTime>& time, JsonWriter& json);

}  // namespace sluice::api

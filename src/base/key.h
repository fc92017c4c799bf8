#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// Identifies one budget. Two keys are equal only if all three parts are.
struct Key {
  /// Rule and limit: "<rule>:<limit>", each percent-encoded. Computed when rules are compiled.
  std::string_view scope{};
  /// The first value of `per`; any bytes. Keys with the same tag are on the same node of a cluster.
  std::string_view tag{};
  /// The other values, from AppendEncodedValues; often empty.
  std::string_view rest{};

  friend bool operator==(const Key&, const Key&) = default;
};

/// Appends `bytes` with everything but letters, digits, '-', '_', '.' and '~' as %XX. The result
/// has no separators, braces or control characters.
void AppendPercentEncoded(std::string_view bytes, std::string& out);

/// Appends the values, percent-encoded and separated by ':'. Injective for lists of the same
/// length.
void AppendEncodedValues(std::span<const std::string_view> values, std::string& out);

/// Appends "{<tag>}:<scope>:<rest>", which is unique to the key.
void AppendKeyName(const Key& key, std::string& out);

/// Reads what AppendKeyName wrote, for a scope of two parts ("<rule>:<limit>"). The results point
/// into `name` and into `tag`, which receives the decoded tag. False: it is something else.
[[nodiscard]] bool ParseKeyName(std::string_view name, std::string& tag, Key& key);

}  // namespace sluice

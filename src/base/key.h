#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// Identifies one budget. Two keys are equal only if all three parts are.
struct Key {
  /// Rule and limit: "<rule>:<limit>", each percent-encoded; made once when rules are compiled.
  std::string_view scope{};
  /// The first value that the budget is per; any bytes. Keys with one tag live on one node of a
  /// cluster.
  std::string_view tag{};
  /// The other values, from EncodeValues; often empty.
  std::string_view rest{};

  friend bool operator==(const Key&, const Key&) = default;
};

/// Appends `bytes` with everything but letters, digits, '-', '_', '.' and '~' as %XX: what comes
/// out holds no separator of ours, no brace, no control character.
void AppendPercentEncoded(std::string_view bytes, std::string& out);

/// Appends the values, percent-encoded and separated by ':'. Different lists of one length give
/// different text.
void AppendEncodedValues(std::span<const std::string_view> values, std::string& out);

/// Appends "{<tag>}:<scope>:<rest>", which no other key gives.
void AppendKeyName(const Key& key, std::string& out);

/// Reads what AppendKeyName wrote, for a scope of two parts ("<rule>:<limit>"). The results point
/// into `name` and into `tag`, which receives the decoded tag. False: it is something else.
[[nodiscard]] bool ParseKeyName(std::string_view name, std::string& tag, Key& key);

}  // namespace sluice

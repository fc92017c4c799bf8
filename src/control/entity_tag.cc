#include "control/entity_tag.h"

#include <algorithm>
#include <string>

namespace sluice::control {
namespace {

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Calls `use` with each tag of the header's list, until it returns true.
template <typename Use>
bool AnyTag(std::string_view if_match, Use use) {
  while (!if_match.empty()) {
    const std::size_t comma = std::min(if_match.find(','), if_match.size());
    if (use(Trimmed(if_match.substr(0, comma)))) return true;
    if_match.remove_prefix(std::min(comma + 1, if_match.size()));
  }
  return false;
}

}  // namespace

bool MatchesTag(std::string_view if_match, const VersionRef& version) {
  return MatchesTag(if_match, EntityTag(version));
}

bool MatchesTag(std::string_view if_match, std::string_view tag) {
  return AnyTag(if_match,
                [&](std::string_view candidate) { return candidate == "*" || candidate == tag; });
}

// Not of the text: clients that see keys shortened could guess the rest of them.
std::string RecordTag(std::uint64_t sequence, WallTime time) {
  return '"' + std::to_string(sequence) + '-' + std::to_string(time.time_since_epoch().count()) +
         '"';
}

VersionId NamedVersion(std::string_view if_match) {
  VersionId named;
  AnyTag(if_match, [&](std::string_view tag) {
    if (!tag.starts_with('"')) return false;
    tag.remove_prefix(1);
    const auto id = ParseVersionId(tag.substr(0, std::min(tag.find('-'), tag.size())));
    if (id && id->epoch != 0) named = *id;
    return named.number != 0;
  });
  return named;
}

}  // namespace sluice::control

#include "rules/attribute_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "config_text/suggestion.h"

namespace sluice::rules {
namespace {

constexpr std::array<std::string_view, 8> kUsual = {"api_key", "ip",   "endpoint", "method",
                                                    "tier",    "user", "model",    "tenant"};

// Names in the documentation, and attributes added by the server.
constexpr std::array<std::string_view, 6> kOthers = {"host",   "domain",     "tls_subject",
                                                     "tls_cn", "ip_network", "api_key_hash"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kAttributeSynonyms = {{
    {"path", "endpoint"},
    {"url", "endpoint"},
    {"uri", "endpoint"},
    {"route", "endpoint"},
    {"ip_cidr", "ip"},
    {"cidr", "ip"},
    {"client_ip", "ip"},
    {"address", "ip"},
    {"key", "api_key"},
    {"apikey", "api_key"},
    {"token", "api_key"},
}};

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::span<const std::string_view> UsualAttributes() { return kUsual; }

bool Extends(std::string_view name, std::string_view other) {
  return name.size() > other.size() && name.starts_with(other) && name[other.size()] == '_';
}

std::optional<std::string_view> MisspelledAttribute(std::string_view name) {
  if (Contains(kUsual, name)) return std::nullopt;
  for (const std::string_view usual : kUsual) {
    if (EqualIgnoringCase(name, usual)) return usual;
  }
  // Short names are too close to each other: `ip`, `id`, `os`.
  if (name.size() >= 5) {
    const auto closest = config_text::ClosestName(name, kUsual);
    if (closest && !Extends(name, *closest)) return closest;
  }
  for (const auto& [word, usual] : kAttributeSynonyms) {
    if (name == word) return usual;
  }
  return std::nullopt;
}

void AttributeNames::Declare(config_text::Reading& reading, const config_text::Field& field) {
  is_declared_ = true;
  for (const config_text::Field& item : reading.Items(field)) {
    const auto name = reading.Text(item, "the name of an attribute such as tenant");
    if (!name) continue;
    const auto place = std::lower_bound(declared_.begin(), declared_.end(), *name);
    if (place != declared_.end() && *place == *name) {
      reading.AddError(item, config_text::Shown(*name) + " stands here twice");
    } else {
      declared_.emplace(place, *name);
    }
  }
}

bool AttributeNames::Declares(std::string_view name) const {
  return std::binary_search(declared_.begin(), declared_.end(), name);
}

bool AttributeNames::Knows(std::string_view name) const {
  return Contains(kUsual, name) || Contains(kOthers, name) || Declares(name);
}

std::string AttributeNames::Suggestion(std::string_view name) const {
  std::vector<std::string_view> names(kUsual.begin(), kUsual.end());
  names.insert(names.end(), kOthers.begin(), kOthers.end());
  names.insert(names.end(), declared_.begin(), declared_.end());
  return config_text::DidYouMean(name, names);
}

}  // namespace sluice::rules

#include "envoy/fields.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::envoy {
namespace {

using Names = std::vector<std::string_view>;

constexpr std::string_view kDocument = "docs/envoy.md";

struct Home {
  std::string_view name;
  std::string_view what;  ///< What it belongs to.
};

constexpr std::string_view kFile = "the file";
constexpr std::string_view kDescriptor = "a descriptor";
constexpr std::string_view kRateLimit = "`rate_limit`";

// Fields of the original. A name may belong to two mappings.
constexpr std::array kHomes = {
    Home{"domain", kFile},
    Home{"descriptors", kFile},
    Home{"key", kDescriptor},
    Home{"value", kDescriptor},
    Home{"descriptors", kDescriptor},
    Home{"rate_limit", kDescriptor},
    Home{"shadow_mode", kDescriptor},
    Home{"quota_mode", kDescriptor},
    Home{"detailed_metric", kDescriptor},
    Home{"value_to_metric", kDescriptor},
    Home{"share_threshold", kDescriptor},
    Home{"metadata", kDescriptor},
    Home{"unit", kRateLimit},
    Home{"requests_per_unit", kRateLimit},
    Home{"unlimited", kRateLimit},
    Home{"name", kRateLimit},
    Home{"replaces", kRateLimit},
    Home{"name", "`replaces`"},
};

/// Returns the fields of `what`, or, with kElsewhere, those of other mappings only.
enum class Belonging : std::uint8_t { kHere, kElsewhere };
Names Original(std::string_view what, Belonging belonging) {
  Names here;
  for (const Home& home : kHomes) {
    if (home.what == what) here.push_back(home.name);
  }
  if (belonging == Belonging::kHere) return here;
  Names elsewhere;
  for (const Home& home : kHomes) {
    const auto is_it = [&](std::string_view name) { return name == home.name; };
    if (std::none_of(here.begin(), here.end(), is_it) &&
        std::none_of(elsewhere.begin(), elsewhere.end(), is_it)) {
      elsewhere.push_back(home.name);
    }
  }
  return elsewhere;
}

config_text::FieldNames NamesOf(std::string_view what, const Names& ours) {
  return {what,
          {Original(what, Belonging::kHere), ours, Original(what, Belonging::kElsewhere)},
          kDocument};
}

}  // namespace

const config_text::FieldNames& DomainFields() {
  static const config_text::FieldNames names =
      NamesOf(kFile, {"algorithm", "consistency", "on_store_failure", "when_full", "count_denied"});
  return names;
}

const config_text::FieldNames& DescriptorFields() {
  static const config_text::FieldNames names =
      NamesOf(kDescriptor, {"consistency", "on_store_failure", "when_full", "count_denied"});
  return names;
}

const config_text::FieldNames& RateLimitFields() {
  static const config_text::FieldNames names =
      NamesOf(kRateLimit, {"algorithm", "unit_multiplier", "window", "burst"});
  return names;
}

const config_text::FieldNames& ReplacesFields() {
  static const config_text::FieldNames names = NamesOf("`replaces`", {});
  return names;
}

void WarnOfMisplaced(const config_text::Mapping& mapping) {
  static const std::map<std::string_view, Names> kElsewhere = [] {
    std::map<std::string_view, Names> elsewhere;
    for (const Home& home : kHomes) {
      elsewhere.try_emplace(home.what, Original(home.what, Belonging::kElsewhere));
    }
    return elsewhere;
  }();
  for (const std::string_view name : kElsewhere.at(mapping.names().what())) {
    const config_text::Field field = mapping[name];
    if (!field) continue;
    const auto* home = std::find_if(kHomes.begin(), kHomes.end(),
                                    [&](const Home& each) { return each.name == name; });
    mapping.reading().AddWarning(
        field, "means nothing here, and is left aside; it belongs to " + std::string(home->what));
  }
}

}  // namespace sluice::envoy

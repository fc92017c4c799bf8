#include "envoy/testing/random_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace sluice::envoy::testing {
namespace {

constexpr std::array<const char*, 4> kKeys = {"a", "b", "a_b", "path"};
constexpr std::array<const char*, 8> kValues = {"x", "y", "xy", "xyx", "b_x", "/v1/x", "yyx", "?"};

void AppendYaml(const std::vector<PlainDescriptor>& descriptors, const std::string& indent,
                std::string& out) {
  for (const PlainDescriptor& each : descriptors) {
    out += indent + "- key: \"" + each.key + "\"\n";
    if (!each.value.empty()) out += indent + "  value: \"" + each.value + "\"\n";
    if (each.shares) out += indent + "  share_threshold: true\n";
    if (each.unlimited) {
      out += indent + "  rate_limit: { unlimited: true }\n";
    } else if (each.requests >= 0) {
      out += indent +
             "  rate_limit: { unit: minute, requests_per_unit: " + std::to_string(each.requests) +
             " }\n";
    }
    if (each.below.empty()) continue;
    out += indent + "  descriptors:\n";
    AppendYaml(each.below, indent + "    ", out);
  }
}

bool Matches(std::string_view pattern, std::string_view value) {
  if (pattern.empty()) return value.empty();
  if (pattern[0] == '*') {
    return Matches(pattern.substr(1), value) ||
           (!value.empty() && Matches(pattern, value.substr(1)));
  }
  return !value.empty() && pattern[0] == value[0] && Matches(pattern.substr(1), value.substr(1));
}

const PlainDescriptor* Choose(const std::vector<PlainDescriptor>& level, const std::string& key,
                              const std::string& value) {
  for (const PlainDescriptor& each : level) {
    if (each.key == key && !each.value.empty() && each.value == value) return &each;
  }
  for (const PlainDescriptor& each : level) {
    const bool is_wildcard = each.value.find('*') != std::string::npos;
    if (each.key == key && is_wildcard && Matches(each.value, value)) return &each;
  }
  for (const PlainDescriptor& each : level) {
    if (each.key == key && each.value.empty()) return &each;
  }
  return nullptr;
}

}  // namespace

std::string RandomConfig::Value() { return kValues[Below(kValues.size())]; }

std::string RandomConfig::Pattern() {
  std::string value = Value();
  for (std::size_t stars = 1 + Below(2); stars > 0; --stars) {
    value.insert(Below(value.size() + 1), "*");
  }
  if (value.size() > 2 && Below(2) == 0) value.erase(Below(value.size()), 1);
  return value.find('*') == std::string::npos ? value + "*" : value;
}

std::vector<PlainDescriptor> RandomConfig::Descriptors(int depth) {
  std::vector<PlainDescriptor> level;
  for (std::size_t count = 1 + Below(6); count > 0; --count) {
    PlainDescriptor each;
    each.key = kKeys[Below(kKeys.size())];
    const std::size_t form = Below(3);
    if (form > 0) each.value = form == 1 ? Value() : Pattern();
    const bool twice = std::any_of(level.begin(), level.end(), [&](const PlainDescriptor& other) {
      return other.key == each.key && other.value == each.value;
    });
    if (twice) continue;
    each.shares = form == 2 && Below(2) == 0;
    each.unlimited = Below(8) == 0;
    if (!each.unlimited && Below(3) > 0) each.requests = Below(10) == 0 ? 0 : ++limits_;
    if (depth > 1 && Below(2) == 0) each.below = Descriptors(depth - 1);
    level.push_back(std::move(each));
  }
  return level;
}

RandomConfig::Request RandomConfig::AnyRequest() {
  Request request;
  for (std::size_t count = Below(4); count > 0; --count) {
    request.emplace_back(kKeys[Below(kKeys.size())], Below(10) == 0 ? "" : Value());
  }
  return request;
}

RandomConfig::Request RandomConfig::RequestFor(const std::vector<PlainDescriptor>& descriptors) {
  Request request;
  const std::vector<PlainDescriptor>* level = &descriptors;
  while (!level->empty()) {
    const PlainDescriptor& each = (*level)[Below(level->size())];
    const bool literally =
        !each.value.empty() && each.value.find('*') == std::string::npos && Below(3) > 0;
    request.emplace_back(each.key, literally ? each.value : Value());
    if (Below(3) == 0) break;
    level = &each.below;
  }
  return request;
}

std::string AsYaml(const std::vector<PlainDescriptor>& descriptors) {
  std::string out = "domain: d\ndescriptors:\n";
  AppendYaml(descriptors, "  ", out);
  return out;
}

PlainAnswer Judge(const std::vector<PlainDescriptor>& descriptors,
                  const RandomConfig::Request& request) {
  PlainAnswer answer;
  const std::vector<PlainDescriptor>* level = &descriptors;
  const PlainDescriptor* chosen = nullptr;
  for (const auto& [key, value] : request) {
    chosen = Choose(*level, key, value);
    if (chosen == nullptr) return {};
    const bool is_exact = !chosen->value.empty() && chosen->value.find('*') == std::string::npos;
    if (!is_exact && !chosen->shares) answer.counted_by.push_back(value);
    level = &chosen->below;
  }
  if (chosen == nullptr || (chosen->requests < 0 && !chosen->unlimited)) return {};
  answer.requests = chosen->requests;
  answer.unlimited = chosen->unlimited;
  return answer;
}

std::vector<Entry> AsEntries(const RandomConfig::Request& request) {
  std::vector<Entry> entries;
  for (const auto& [key, value] : request) entries.push_back({key, value});
  return entries;
}

}  // namespace sluice::envoy::testing

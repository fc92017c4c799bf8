#include "match/plain_call.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/ascii.h"
#include "base/host_name.h"
#include "base/network.h"
#include "rules/glob.h"
#include "rules/regex.h"

namespace sluice::match {
namespace {

std::string OneWayToWrite(std::string_view text) {
  const auto address = ParseAddress(text);
  std::array<char, kMaxAddressText> out;
  return std::string(address ? FormatAddress(*address, out) : text);
}

std::vector<std::string> SegmentsOf(std::string_view path) {
  std::vector<std::string> segments(1);
  for (const char c : path) {
    if (c != '/') {
      segments.back().push_back(c);
    } else if (!segments.back().empty()) {
      segments.emplace_back();
    }
  }
  if (segments.back().empty()) segments.pop_back();
  return segments;
}

// How a template fits a path, segment by segment: 0 literal, 1 a parameter, 2 the rest. The
// smaller list is the better fit. False if it does not fit.
bool Fits(const std::vector<std::string>& pattern, const std::vector<std::string>& path,
          std::vector<int>& how) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i >= pattern.size()) return false;
    const std::string& segment = pattern[i];
    if (segment == "*" || (segment.starts_with('{') && segment.ends_with("...}"))) {
      how.push_back(2);
      return true;
    }
    const bool parameter = segment.starts_with('{');
    if (!parameter && segment != path[i]) return false;
    how.push_back(parameter ? 1 : 0);
  }
  return pattern.size() == path.size();
}

}  // namespace

std::string PlainCall::Get(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? std::string() : found->second;
}

PlainCall PlainCallOf(Attributes attributes) {
  PlainCall call;
  for (const Attribute& attribute : attributes) {
    call.values.emplace(attribute.name, attribute.value);  // Keeps the first.
  }
  if (const auto endpoint = call.values.find("endpoint"); endpoint != call.values.end()) {
    std::string& path = endpoint->second;
    path.erase(std::min(path.find_first_of("?#"), path.size()));
  }
  if (const auto ip = call.values.find("ip"); ip != call.values.end()) {
    ip->second = OneWayToWrite(ip->second);
  }
  if (const auto host = call.values.find("host"); host != call.values.end()) {
    std::string buffer;
    host->second = std::string(NormalizeHost(host->second, buffer));
  }
  std::erase_if(call.values, [](const auto& each) { return each.second.empty(); });
  call.raw_key = call.Get("api_key");
  return call;
}

bool PlainMatches(const rules::Pattern& pattern, std::string_view value) {
  switch (pattern.kind) {
    case rules::PatternKind::kExact:
      return pattern.text == value;
    case rules::PatternKind::kGlob:
      return rules::Glob::Compile(pattern.text).value().Matches(value);
    case rules::PatternKind::kRegex:
      return rules::Regex::Compile(pattern.text).value().Matches(value);
    case rules::PatternKind::kCidr: {
      const auto address = ParseAddress(value);
      return address && ParseNetwork(pattern.text).value().Contains(*address);
    }
  }
  return false;
}

bool PlainHolds(const rules::Condition& condition, const PlainCall& call) {
  const std::string value = call.Get(condition.attribute);
  if (condition.presence == rules::Presence::kAbsent) return value.empty();
  if (condition.presence == rules::Presence::kPresent) return !value.empty();
  if (value.empty()) return false;
  for (const rules::Pattern& pattern : condition.any_of) {
    if (PlainMatches(pattern, value)) return true;
    if (pattern.kind == rules::PatternKind::kExact) {
      if (condition.ignore_case && EqualIgnoringCase(pattern.text, value)) return true;
      if (condition.attribute == "ip" && OneWayToWrite(pattern.text) == value) return true;
    }
    const bool is_text =
        pattern.kind == rules::PatternKind::kExact || pattern.kind == rules::PatternKind::kGlob;
    if (condition.attribute == "endpoint" && is_text && !call.endpoint_template.empty() &&
        PlainMatches(pattern, call.endpoint_template)) {
      return true;
    }
  }
  return false;
}

std::string PlainTemplateOf(std::span<const std::string> templates, std::string_view path) {
  const std::vector<std::string> segments = SegmentsOf(path);
  std::string best;
  std::vector<int> best_how;
  for (const std::string& text : templates) {
    std::vector<int> how;
    if (!Fits(SegmentsOf(text), segments, how)) continue;
    if (best.empty() || how < best_how) {
      best = text;
      best_how = how;
    }
  }
  return best;
}

}  // namespace sluice::match

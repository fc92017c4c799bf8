#include "match/testing/random_entries.h"

#include <algorithm>

#include "base/ascii.h"
#include "match/plain_call.h"

namespace sluice::match::testing {
namespace {

using rules::PatternKind;

const std::vector<std::string> kEntryAttributes = {"api_key", "ip",   "endpoint",
                                              "method",  "host", "tenant"};

}  // namespace

std::string RandomEntries::Value(const std::string& attribute) {
  if (attribute == "ip") {
    return OneIn(4) ? "2001:db8::" + std::to_string(1 + Below(3))
                    : "10.0." + std::to_string(Below(3)) + "." + std::to_string(1 + Below(3));
  }
  if (attribute == "endpoint") return "/v" + std::to_string(1 + Below(2)) + "/orders";
  if (attribute == "method") return OneIn(2) ? "GET" : "POST";
  if (attribute == "host") return "api" + std::to_string(Below(2)) + ".example.com";
  return attribute + "_value_" + std::to_string(Below(4));
}

EntryCondition RandomEntries::Condition(const std::string& attribute) {
  EntryCondition condition{.attribute = attribute, .value = Value(attribute)};
  if (attribute == "ip" && OneIn(2)) {
    condition.kind = PatternKind::kCidr;
    const std::vector<std::string> networks = {"10.0.0.0/8",  "10.0.1.0/24",   "0.0.0.0/0",
                                               "10.0.2.1/32", "2001:db8::/32", "::/0"};
    condition.value = networks[Below(networks.size())];
  } else if (attribute != "ip" && OneIn(3)) {
    condition.kind = PatternKind::kGlob;
    std::string& glob = condition.value;
    switch (Below(4)) {
      case 0:
        glob = "*";
        break;
      case 1:
        glob = glob.substr(0, glob.size() - 1) + "?";
        break;
      case 2:
        glob = glob.substr(0, 1 + Below(glob.size())) + "*";
        break;
      default:
        glob = "*" + glob.substr(Below(glob.size()));
    }
  }
  return condition;
}

Entry RandomEntries::One() {
  Entry entry;
  entry.id = "e" + std::to_string(made_++);
  for (const std::string& attribute : kEntryAttributes) {
    if (OneIn(4)) entry.match.push_back(Condition(attribute));
  }
  std::sort(entry.match.begin(), entry.match.end(),
            [](const auto& a, const auto& b) { return a.attribute < b.attribute; });
  entry.effect = static_cast<EntryEffect>(Below(5));
  entry.limit = static_cast<std::int64_t>(1 + Below(5));
  if (OneIn(2)) entry.period = std::chrono::minutes(1);
  entry.factor = {.digits = static_cast<std::int64_t>(10 * Below(3) + 1 + Below(9)), .scale = 1};
  entry.created = Time();
  if (!OneIn(3)) entry.expires_at = Time();
  return entry;
}

RandomEntries::Values RandomEntries::Call() {
  Values values;
  for (const std::string& attribute : kEntryAttributes) {
    if (OneIn(3)) continue;
    std::string value = OneIn(20) ? std::string() : Value(attribute);
    if (attribute == "endpoint" && OneIn(2)) value += "?page=2";
    if (attribute == "host" && OneIn(2)) value = UpperCase(value) + ":443";
    if (attribute == "method" && OneIn(2)) value = LowerCase(value);
    if (attribute == "ip" && OneIn(3) && value.starts_with("10.")) value = "::ffff:" + value;
    values.emplace_back(attribute, std::move(value));
    // The second of a name is ignored.
    if (OneIn(10)) values.emplace_back(attribute, Value(attribute));
  }
  return values;
}

std::vector<const Entry*> PlainFind(const std::vector<Entry>& entries, Attributes attributes,
                                    WallTime now) {
  PlainCall call = PlainCallOf(attributes);
  if (const auto method = call.values.find("method"); method != call.values.end()) {
    method->second = UpperCase(method->second);
  }
  std::vector<const Entry*> found;
  for (const Entry& entry : entries) {
    if (now >= entry.expires_at) continue;
    bool holds = true;
    for (const EntryCondition& condition : entry.match) {
      const std::string value = call.Get(condition.attribute);
      holds = holds && !value.empty() && PlainMatches({condition.kind, condition.value, {}}, value);
    }
    if (holds) found.push_back(&entry);
  }
  std::sort(found.begin(), found.end(),
            [](const Entry* a, const Entry* b) { return Precedes(*a, *b); });
  return found;
}

}  // namespace sluice::match::testing

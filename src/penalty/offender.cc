#include "penalty/offender.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/network.h"
#include "match/entry_text.h"
#include "rules/penalty_reader.h"

namespace sluice::penalty {
namespace {

using rules::PatternKind;

// As IPv4 is stored in 128 bits.
constexpr int kNetworkV4 = 96 + 24;
constexpr int kNetworkV6 = 48;

// Of the first attribute with this name, as budgets are counted: keys by their hash and addresses
// by their network, if the server added these.
bool AddCondition(const limiter::CheckRequest& check, std::string_view attribute,
                  match::Entry& entry) {
  std::string_view name = attribute;
  if (name == "api_key" && check.Find("api_key_hash")) name = "api_key_hash";
  if (name == "ip" && check.Find("ip_network")) name = "ip_network";
  const auto value = check.Find(name);
  if (!value || value->empty() || value->size() > match::kMaxEntryValue) return false;
  match::EntryCondition condition{.attribute = std::string(name), .value = std::string(*value)};
  if (name == "ip") {
    const auto address = ParseAddress(*value);
    if (!address) return false;
    std::array<char, kMaxAddressText> text;
    condition.value = std::string(FormatAddress(*address, text));
  }
  entry.match.push_back(std::move(condition));
  return true;
}

bool AddCaller(const limiter::CheckRequest& check, match::Entry& entry) {
  if (check.match().has_known_key()) return AddCondition(check, "api_key", entry);
  entry.penalty->without_key = true;
  return AddCondition(check, "ip", entry);
}

bool AddNetwork(const limiter::CheckRequest& check, match::Entry& entry) {
  const auto ip = check.Find("ip");
  const auto address = ip ? ParseAddress(*ip) : std::nullopt;
  if (!address) return false;
  const bool v4 = address->is_v4();
  std::array<char, kMaxAddressText> text;
  std::string network(FormatAddress(Masked(*address, v4 ? kNetworkV4 : kNetworkV6), text));
  network += v4 ? "/24" : "/48";
  entry.match.push_back(
      {.attribute = "ip", .kind = PatternKind::kCidr, .value = std::move(network)});
  return true;
}

// What identifies the caller among the attributes of `per`.
bool AddBudget(const limiter::CheckRequest& check, const rules::Rule& rule, match::Entry& entry) {
  entry.rule = rule.id;
  if (!rule.per) return AddCaller(check, entry);
  for (const std::string& attribute : *rule.per) {
    if (!rules::DescribesCall(attribute) && !AddCondition(check, attribute, entry)) return false;
  }
  return !entry.match.empty() && entry.match.size() <= match::kMaxEntryConditions;
}

}  // namespace

std::optional<match::Entry> OffenderOf(const limiter::CheckRequest& check,
                                       const rules::Rule& rule) {
  match::Entry entry;
  entry.penalty.emplace();
  bool is_known = false;
  switch (rule.penalty->scope) {
    case rules::PenaltyScope::kRule:
      is_known = AddBudget(check, rule, entry);
      break;
    case rules::PenaltyScope::kCaller:
      is_known = AddCaller(check, entry);
      break;
    case rules::PenaltyScope::kNetwork:
      is_known = AddNetwork(check, entry);
      break;
  }
  if (!is_known) return std::nullopt;
  std::sort(entry.match.begin(), entry.match.end(),
            [](const auto& a, const auto& b) { return a.attribute < b.attribute; });
  return entry;
}

std::string_view CallerOf(const limiter::CheckRequest& check) {
  const bool has_key = check.match().has_known_key();
  return check.Find(has_key ? "api_key" : "ip").value_or(std::string_view());
}

}  // namespace sluice::penalty

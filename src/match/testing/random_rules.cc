#include "match/testing/random_rules.h"

#include <algorithm>
#include <chrono>

#include <sluice/limit.h>

#include "base/host_name.h"

namespace sluice::match::testing {
namespace {

const std::vector<std::string> kAttributes = {"api_key",    "ip",   "endpoint", "method",
                                              "tier",       "user", "model",    "api_key_hash",
                                              "ip_network", "host"};
const std::vector<std::string> kTiers = {"free", "pro", "enterprise"};

Limit SomeLimit(std::int64_t capacity) {
  return *Limit::TokenBucket({.capacity = capacity, .refill = Rate::PerSecond(1)});
}

}  // namespace

std::string RandomRules::Key() {
  static const std::vector<std::string> kBegin = {"sk_prod_", "sk_free_", "sk_prod_vip_", "sk_",
                                                  ""};
  static const std::vector<std::string> kEnd = {"1", "2", "001", "a:b", "1.2.3.4", "x"};
  return OneOf(kBegin) + OneOf(kEnd);
}

std::string RandomRules::Ip() {
  static const std::vector<std::string> kAddresses = {
      "1.2.3.4",     "::ffff:1.2.3.4",    "::ffff:102:304", "10.0.0.1",
      "10.0.1.1",    "2001:db8::1",       "2001:DB8:0::1",  "2001:db9::1",
      "192.168.0.1", "2001:db8::1.2.3.4", "not an address", "1.2.3.400"};
  return OneOf(kAddresses);
}

std::string RandomRules::Endpoint() {
  static const std::vector<std::string> kSegments = {"v1", "v2",    "orders", "carts", "7",
                                                     "8",  "items", "",       "\xFF",  "a\nb"};
  static const std::vector<std::string> kLikely = {
      "/v1/orders/7", "/v1/orders/8/", "/v1/orders", "/v1//orders/x", "/v2/carts", "/v1/items/7/8"};
  std::string path;
  if (OneIn(2)) {
    path = OneOf(kLikely);
  } else {
    for (std::size_t n = Below(5); n > 0; --n) path += "/" + OneOf(kSegments);
  }
  if (OneIn(6)) path += "?page=1";
  if (OneIn(12)) path += "#top";
  return path;
}

std::string RandomRules::Method() {
  static const std::vector<std::string> kMethods = {"GET", "get", "Post", "POST", "DELETE"};
  return OneOf(kMethods);
}

std::string RandomRules::Host() {
  static const std::vector<std::string> kHosts = {
      "api.example.com", "API.example.com",   "api.example.com:443", "Api.Example.com.:80",
      "example.com.",    "admin.example.com", "[2001:DB8::1]:443",   "2001:db8::1"};
  return OneOf(kHosts);
}

std::string RandomRules::Tier() { return OneOf(kTiers); }

std::string RandomRules::Value(const std::string& attribute) {
  if (attribute == "api_key") return Key();
  if (attribute == "ip") return Ip();
  if (attribute == "endpoint") return Endpoint();
  if (attribute == "method") return Method();
  if (attribute == "tier") return Tier();
  if (attribute == "host") return Host();
  static const std::vector<std::string> kOthers = {"alice", "bob", "alice bob", "gpt-4",
                                                   "gpt-4-mini"};
  return OneOf(kOthers);
}

// The value with something replaced by '*' or '?'.
std::string RandomRules::GlobLike(std::string value) {
  if (value.empty()) return "*";
  const std::size_t at = Below(value.size());
  if (OneIn(3)) {
    value[at] = '?';
  } else {
    value.replace(at, 1 + Below(value.size() - at), "*");
  }
  return OneIn(4) ? GlobLike(value) : value;
}

rules::Pattern RandomRules::KeyPattern() {
  if (OneIn(2)) return {.kind = rules::PatternKind::kExact, .text = Key(), .position = {}};
  return {.kind = rules::PatternKind::kGlob, .text = GlobLike(Key()), .position = {}};
}

std::string RandomRules::Regex() {
  static const std::vector<std::string> kRegexes = {".*",
                                                    "^/v1/orders.*",
                                                    "^/v1/orders$",
                                                    "orders",
                                                    "/orders/",
                                                    "^/v[12]/.*",
                                                    "^/v1/(orders|carts)",
                                                    "items$",
                                                    ".*/carts/.*",
                                                    "^/v1/[^/]+/[0-9]+$",
                                                    "(?i)ORDERS",
                                                    "^/v1/orders?/7|/8$",
                                                    "^.*/items/.*$",
                                                    "",
                                                    "^/v2/.+",
                                                    "orders/\\d+$",
                                                    "\\{id\\}",
                                                    "^/v1/orders/\\{",
                                                    "(orders|carts)/7",
                                                    "^/v1/orders/x*"};
  return OneOf(kRegexes);
}

std::string RandomRules::Cidr() {
  static const std::vector<std::string> kNetworks = {
      "1.2.3.4", "1.2.3.0/24",    "10.0.0.0/8",         "10.0.0.0/24", "0.0.0.0/0",
      "::/0",    "2001:db8::/32", "::ffff:1.2.0.0/112", "2001:db8::1", "192.168.0.0/16"};
  return OneOf(kNetworks);
}

rules::Pattern RandomRules::Text(const std::string& attribute) {
  static const std::vector<std::string> kTemplates = {"/v1/orders/{id}", "/v1/*/{id}",
                                                      "/{version}/carts"};
  if (attribute == "endpoint" && OneIn(4)) {
    const std::string text = OneOf(kTemplates);
    return {.kind = text.find('*') == std::string::npos ? rules::PatternKind::kExact
                                                        : rules::PatternKind::kGlob,
            .text = text,
            .position = {}};
  }
  std::string value = Value(attribute);
  if (attribute == "host") {  // As the reader of rule files leaves it.
    std::string buffer;
    value = std::string(NormalizeHost(value, buffer));
  }
  if (value.empty() || OneIn(3)) {
    return {.kind = rules::PatternKind::kGlob, .text = GlobLike(std::move(value)), .position = {}};
  }
  return {.kind = rules::PatternKind::kExact, .text = std::move(value), .position = {}};
}

rules::Pattern RandomRules::Any(const std::string& attribute) {
  if (attribute == "ip" && !OneIn(4)) {
    return {.kind = rules::PatternKind::kCidr, .text = Cidr(), .position = {}};
  }
  if (attribute == "endpoint" && OneIn(2)) {
    return {.kind = rules::PatternKind::kRegex, .text = Regex(), .position = {}};
  }
  return Text(attribute);
}

rules::Condition RandomRules::OneCondition() {
  rules::Condition condition;
  condition.attribute = OneOf(kAttributes);
  if (OneIn(8)) {
    condition.presence = OneIn(2) ? rules::Presence::kPresent : rules::Presence::kAbsent;
    return condition;
  }
  condition.ignore_case = condition.attribute == "method" && OneIn(2);
  for (std::size_t n = OneIn(12) ? 12 : 1 + Below(2); n > 0; --n) {
    rules::Pattern pattern = Any(condition.attribute);
    if (condition.ignore_case) {
      pattern = {.kind = rules::PatternKind::kExact, .text = Method(), .position = {}};
    }
    condition.any_of.push_back(std::move(pattern));
  }
  return condition;
}

rules::Cost RandomRules::SomeCost() {
  rules::Cost cost;
  if (OneIn(5)) cost.constant = 3;
  if (OneIn(4)) cost.attribute = "tokens";
  if (OneIn(6)) cost.least = 2;
  if (OneIn(6)) cost.max_cost = 4;
  return cost;
}

rules::Limits RandomRules::SomeLimits(const std::vector<std::string>& names) {
  rules::Limits limits;
  for (const std::string& name : names) {
    limits.push_back({.name = name,
                      .type = "requests",
                      .limit = SomeLimit(static_cast<std::int64_t>(1 + Below(9))),
                      .shadow = OneIn(6),
                      .schedule = {},
                      .cost = SomeCost(),
                      .settings = {}});
  }
  return limits;
}

rules::LimitVariants RandomRules::SomeVariants(const std::vector<std::string>& names) {
  rules::LimitVariants variants;
  if (!OneIn(8)) variants.usual = SomeLimits(names);
  while (OneIn(3) || variants.usual.empty()) {
    variants.by_tier[Tier()] = SomeLimits(names);
    if (OneIn(2)) break;
  }
  return variants;
}

rules::Schedule RandomRules::SomeSchedule() {
  rules::Schedule schedule;
  if (OneIn(2)) schedule.starts_at = Time();
  if (OneIn(2))
    schedule.expires_at = std::max(schedule.starts_at, Time()) + std::chrono::seconds(1);
  return schedule;
}

void RandomRules::AddRollout(rules::Rule& rule, const std::vector<std::string>& names) {
  if (rule.per && rule.per->empty()) return;
  rules::Rollout& rollout = rule.rollout.emplace();
  rollout.share = static_cast<std::uint32_t>(OneIn(8) ? 0 : Below(rules::Rollout::kWhole + 1));
  if (rule.per) rollout.by = OneOf(*rule.per);
  rollout.has_from = !OneIn(3);
  if (!rollout.has_from) return;
  std::vector<bool> absent(names.size());
  for (std::size_t i = 1; i < absent.size(); ++i) absent[i] = OneIn(3);
  const auto make = [&] {
    rules::LimitVariants variants = SomeVariants(names);
    const auto mark = [&](rules::Limits& limits) {
      for (std::size_t i = 0; i < limits.size(); ++i) limits[i].is_absent = absent[i];
    };
    mark(variants.usual);
    for (auto& [tier, limits] : variants.by_tier) mark(limits);
    return variants;
  };
  rollout.from = make();
  for (rules::Override& each : rule.overrides) each.from = make();
}

// Each limit has the same schedule in all variants.
void RandomRules::AddSchedules(rules::Rule& rule, const std::vector<std::string>& names) {
  if (OneIn(5)) rule.schedule = SomeSchedule();
  if (!OneIn(4)) return;
  std::vector<rules::Schedule> schedules;
  for (std::size_t i = 0; i < names.size(); ++i) schedules.push_back(SomeSchedule());
  const auto set = [&](rules::LimitVariants& variants) {
    const auto set_each = [&](rules::Limits& limits) {
      for (std::size_t i = 0; i < limits.size(); ++i) limits[i].schedule = schedules[i];
    };
    set_each(variants.usual);
    for (auto& [tier, limits] : variants.by_tier) set_each(limits);
  };
  set(rule.variants);
  if (rule.rollout) set(rule.rollout->from);
  for (rules::Override& each : rule.overrides) {
    set(each.variants);
    set(each.from);
  }
}

rules::Rule RandomRules::OneRule(std::size_t number) {
  static const std::vector<std::string> kNames = {"requests", "per day", "tokens"};
  rules::Rule rule;
  rule.id = "rule/" + std::to_string(number);
  rule.enabled = !OneIn(15);
  rule.final = OneIn(12);
  rule.shadow = OneIn(8);
  if (OneIn(3)) rule.tier = Tier();
  for (std::size_t n = Below(4); n > 0; --n) rule.match.push_back(OneCondition());
  if (!OneIn(3)) {
    rule.per.emplace();
    for (std::size_t n = Below(3); n > 0; --n) rule.per->push_back(OneOf(kAttributes));
  }
  if (OneIn(5)) rule.hash_tag = OneOf(kAttributes);
  if (OneIn(2)) rule.on_missing = static_cast<rules::OnMissing>(Below(3));
  const std::vector<std::string> names(kNames.begin(),
                                       kNames.begin() + static_cast<std::ptrdiff_t>(1 + Below(3)));
  rule.variants = SomeVariants(names);
  const std::string first = !rule.per           ? OneIn(2) ? "api_key" : "ip"
                            : rule.per->empty() ? "api_key"
                                                : rule.per->front();
  for (std::size_t n = OneIn(3) ? 1 + Below(4) : 0; n > 0; --n) {
    rule.overrides.push_back({.whose = Text(first), .variants = SomeVariants(names), .from = {}});
  }
  if (OneIn(4)) AddRollout(rule, names);
  AddSchedules(rule, names);
  return rule;
}

rules::RuleFile RandomRules::File(std::size_t max_rules) {
  static const std::vector<std::string> kTemplates = {
      "/v1/orders/{id}", "/v1/orders",  "/{version}/carts", "/v1/{what}/7",
      "/v2/{rest...}",   "/v1/items/*", "/{a}/{b}/{c}"};
  rules::RuleFile file;
  for (std::size_t n = Below(max_rules + 1); n > 0; --n) file.rules.push_back(OneRule(n));
  const auto fill = [&](std::vector<rules::Pattern>& list) {
    for (std::size_t n = 1 + Below(3); n > 0; --n) {
      list.push_back(
          OneIn(3)
              ? rules::Pattern{.kind = rules::PatternKind::kCidr, .text = Cidr(), .position = {}}
              : KeyPattern());
    }
  };
  if (OneIn(3)) fill(file.allow);
  if (OneIn(3)) fill(file.deny);
  if (OneIn(2)) {
    for (std::size_t n = Below(4); n > 0; --n) file.keys.push_back({KeyPattern(), Tier()});
  }
  if (OneIn(3)) {
    for (std::size_t n = 1 + Below(3); n > 0; --n) file.known_keys.push_back(KeyPattern());
  }
  for (const std::string& text : kTemplates) {
    if (OneIn(2)) file.endpoints.push_back(text);
  }
  file.tiers = kTiers;
  if (OneIn(2)) file.default_tier = Tier();
  return file;
}

RandomRules::Values RandomRules::Call(const rules::RuleFile& file) {
  static const std::vector<std::string> kTokens = {"1", "3", "5", "0", "-1", "x", "1.5", "", "99"};
  Values values;
  for (const std::string& attribute : kAttributes) {
    if (OneIn(attribute == "tier" ? 2 : 4)) continue;
    values.emplace_back(attribute, OneIn(20) ? "" : Value(attribute));
  }
  if (OneIn(2)) values.emplace_back("tokens", OneOf(kTokens));
  if (OneIn(3)) values.emplace_back("unknown", "x");
  if (OneIn(5)) values.emplace_back("api_key", Key());  // Perhaps for the second time.
  // What an exact pattern of some rule wants.
  if (!file.rules.empty() && OneIn(2)) {
    for (const rules::Condition& condition : OneOf(file.rules).match) {
      if (condition.any_of.empty()) continue;
      const rules::Pattern& pattern = OneOf(condition.any_of);
      if (pattern.kind == rules::PatternKind::kExact) {
        values.insert(values.begin(), {condition.attribute, pattern.text});
      }
    }
  }
  return values;
}

std::vector<Attribute> AsAttributes(const RandomRules::Values& values) {
  std::vector<Attribute> attributes;
  for (const auto& [name, value] : values) attributes.push_back({.name = name, .value = value});
  return attributes;
}

}  // namespace sluice::match::testing

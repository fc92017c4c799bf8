#include "rules/testing/random_rules.h"

#include <chrono>

#include <sluice/limit.h>

namespace sluice::rules::testing {
namespace {

const std::vector<std::string> kAttributes = {
    "api_key", "ip", "endpoint", "method", "tier", "user", "model", "api_key_hash", "ip_network"};
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

std::string RandomRules::Tier() { return OneOf(kTiers); }

std::string RandomRules::Value(const std::string& attribute) {
  if (attribute == "api_key") return Key();
  if (attribute == "ip") return Ip();
  if (attribute == "endpoint") return Endpoint();
  if (attribute == "method") return Method();
  if (attribute == "tier") return Tier();
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

Pattern RandomRules::KeyPattern() {
  if (OneIn(2)) return {.kind = PatternKind::kExact, .text = Key(), .position = {}};
  return {.kind = PatternKind::kGlob, .text = GlobLike(Key()), .position = {}};
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

Pattern RandomRules::Text(const std::string& attribute) {
  static const std::vector<std::string> kTemplates = {"/v1/orders/{id}", "/v1/*/{id}",
                                                      "/{version}/carts"};
  if (attribute == "endpoint" && OneIn(4)) {
    const std::string text = OneOf(kTemplates);
    return {.kind = text.find('*') == std::string::npos ? PatternKind::kExact : PatternKind::kGlob,
            .text = text,
            .position = {}};
  }
  std::string value = Value(attribute);
  if (value.empty() || OneIn(3)) {
    return {.kind = PatternKind::kGlob, .text = GlobLike(std::move(value)), .position = {}};
  }
  return {.kind = PatternKind::kExact, .text = std::move(value), .position = {}};
}

Pattern RandomRules::Any(const std::string& attribute) {
  if (attribute == "ip" && !OneIn(4)) {
    return {.kind = PatternKind::kCidr, .text = Cidr(), .position = {}};
  }
  if (attribute == "endpoint" && OneIn(2)) {
    return {.kind = PatternKind::kRegex, .text = Regex(), .position = {}};
  }
  return Text(attribute);
}

Condition RandomRules::OneCondition() {
  Condition condition;
  condition.attribute = OneOf(kAttributes);
  if (OneIn(8)) {
    condition.presence = OneIn(2) ? Presence::kPresent : Presence::kAbsent;
    return condition;
  }
  condition.ignore_case = condition.attribute == "method" && OneIn(2);
  for (std::size_t n = OneIn(12) ? 12 : 1 + Below(2); n > 0; --n) {
    Pattern pattern = Any(condition.attribute);
    if (condition.ignore_case) {
      pattern = {.kind = PatternKind::kExact, .text = Method(), .position = {}};
    }
    condition.any_of.push_back(std::move(pattern));
  }
  return condition;
}

Cost RandomRules::SomeCost() {
  Cost cost;
  if (OneIn(5)) cost.constant = 3;
  if (OneIn(4)) cost.attribute = "tokens";
  if (OneIn(6)) cost.least = 2;
  if (OneIn(6)) cost.max_cost = 4;
  return cost;
}

Limits RandomRules::SomeLimits(const std::vector<std::string>& names) {
  Limits limits;
  for (const std::string& name : names) {
    limits.push_back({.name = name,
                      .type = "requests",
                      .limit = SomeLimit(static_cast<std::int64_t>(1 + Below(9))),
                      .cost = SomeCost(),
                      .settings = {}});
  }
  return limits;
}

Variants RandomRules::SomeVariants(const std::vector<std::string>& names) {
  Variants variants;
  if (!OneIn(8)) variants.usual = SomeLimits(names);
  while (OneIn(3) || variants.usual.empty()) {
    variants.by_tier[Tier()] = SomeLimits(names);
    if (OneIn(2)) break;
  }
  return variants;
}

Rule RandomRules::OneRule(std::size_t number) {
  static const std::vector<std::string> kNames = {"requests", "per day", "tokens"};
  Rule rule;
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
  const std::vector<std::string> names(kNames.begin(),
                                       kNames.begin() + static_cast<std::ptrdiff_t>(1 + Below(3)));
  rule.variants = SomeVariants(names);
  const std::string first = !rule.per           ? OneIn(2) ? "api_key" : "ip"
                            : rule.per->empty() ? "api_key"
                                                : rule.per->front();
  for (std::size_t n = OneIn(3) ? 1 + Below(4) : 0; n > 0; --n) {
    rule.overrides.push_back({.whose = Text(first), .variants = SomeVariants(names)});
  }
  return rule;
}

RuleFile RandomRules::File(std::size_t max_rules) {
  static const std::vector<std::string> kTemplates = {
      "/v1/orders/{id}", "/v1/orders",  "/{version}/carts", "/v1/{what}/7",
      "/v2/{rest...}",   "/v1/items/*", "/{a}/{b}/{c}"};
  RuleFile file;
  for (std::size_t n = Below(max_rules + 1); n > 0; --n) file.rules.push_back(OneRule(n));
  const auto fill = [&](std::vector<Pattern>& list) {
    for (std::size_t n = 1 + Below(3); n > 0; --n) {
      list.push_back(OneIn(3) ? Pattern{.kind = PatternKind::kCidr, .text = Cidr(), .position = {}}
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

RandomRules::Values RandomRules::Call(const RuleFile& file) {
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
    for (const Condition& condition : OneOf(file.rules).match) {
      if (condition.any_of.empty()) continue;
      const Pattern& pattern = OneOf(condition.any_of);
      if (pattern.kind == PatternKind::kExact) {
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

}  // namespace sluice::rules::testing

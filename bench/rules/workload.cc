#include "workload.h"

#include <array>

namespace sluice::bench {
namespace {

using std::to_string;

std::string Id(std::size_t team, const char* which) {
  return "  - id: team" + to_string(team) + which + "\n";
}

std::string Subnet(std::size_t team) {
  return "10." + to_string(team / 256 % 256) + "." + to_string(team % 256);
}

std::string Resource(std::size_t team) { return "res" + to_string(team); }

std::string FirstRule(std::size_t team) {
  return Id(team, "_keys") + "    match:\n      api_key_pattern: \"sk_team" + to_string(team) +
         "_*\"\n      endpoint_regex: \"^/v1/" + Resource(team) +
         "/.*\"\n    algorithm: token_bucket\n    params: { capacity: 100, refill_rate: 1.67 }\n";
}

std::string SecondRule(std::size_t team) {
  const std::string resource = Resource(team);
  std::string rule = Id(team, "_use");
  switch (team % 4) {
    case 0:
      rule += "    match:\n      endpoint: \"/v1/" + resource +
              "/items/{id}\"\n      methods: [GET, POST]\n    per: [api_key, endpoint]\n";
      break;
    case 1:
      rule += "    match: { user: u" + to_string(team) + ", model: \"gpt-4*\" }\n" +
              "    per: [user, model]\n";
      break;
    case 2:
      rule += "    match:\n      endpoint_regex: \"^/v[0-9]+/" + resource +
              "/[^/]+/[0-9]+$\"\n    per: [ip]\n";
      break;
    default:
      rule += "    match:\n      endpoint_regex: \".*/" + resource +
              "/items/.*\"\n    per: [tier, api_key]\n";
  }
  return rule + "    limit: 1000 per minute\n";
}

std::string ThirdRule(std::size_t team) {
  std::string rule = Id(team, "_place");
  switch (team % 3) {
    case 0:
      rule += "    match: { ip: \"" + Subnet(team) + ".0/24\" }\n    per: [ip]\n";
      break;
    case 1:
      rule += "    tier: pro\n    match: { endpoint: \"/v1/" + Resource(team) + "/*\" }\n";
      break;
    default:
      rule += "    match: { api_key: [\"sk_team" + to_string(team) + "_a\", \"sk_team" +
              to_string(team) + "_b\"] }\n    per: [api_key]\n";
  }
  return rule + "    limit: 20/s\n";
}

}  // namespace

std::string RuleFileText(std::size_t rules) {
  std::string text = "default_tier: free\nendpoints:\n";
  const std::size_t teams = (rules + 2) / 3;
  for (std::size_t team = 0; team < teams; ++team) {
    text += "  - \"/v1/" + Resource(team) + "/items/{id}\"\n";
  }
  text += "allow: [\"sk_internal_*\", \"sk_monitoring_*\"]\n";
  text += "deny: [\"sk_revoked_*\", \"192.0.2.0/24\"]\n";
  text += "rules:\n";
  for (std::size_t i = 0; i < rules; ++i) {
    const std::size_t team = i / 3;
    text += i % 3 == 0 ? FirstRule(team) : i % 3 == 1 ? SecondRule(team) : ThirdRule(team);
  }
  return text;
}

Request::Request(std::size_t team, std::uint64_t chance) {
  Add("api_key", "sk_team" + to_string(team) + (chance % 2 == 0 ? "_a" : "_b"));
  Add("ip", Subnet(team) + "." + to_string(chance % 256));
  Add("endpoint", "/v1/" + Resource(team) + "/items/" + to_string(chance % 100'000));
  Add("method", chance % 3 == 0 ? "POST" : "GET");
  Add("tier", "pro");
  Add("user", "u" + to_string(team));
  Add("model", "gpt-4-mini");
  for (const auto& [name, value] : values_) attributes_.push_back({.name = name, .value = value});
}

Request::Request(std::string api_key, std::string ip) {
  Add("api_key", std::move(api_key));
  Add("ip", std::move(ip));
  Add("endpoint", "/v1/anything/items/7");
  Add("method", "GET");
  for (const auto& [name, value] : values_) attributes_.push_back({.name = name, .value = value});
}

void Request::Add(const char* name, std::string value) {
  values_.emplace_back(name, std::move(value));
}

std::string ListedKey(std::size_t entry) {
  return (entry % 5 == 3 ? "sk_flagged" : "sk_revoked") + to_string(entry) + "_x";
}

std::string ListedIp(std::size_t entry) {
  return "172." + to_string(entry / 65'536 % 256) + "." + to_string(entry / 256 % 256) + "." +
         to_string(entry % 256);
}

std::string ListFileText(std::size_t entries) {
  std::string text = "rules:\n  - { id: all, limit: 10/s }\n";
  if (entries > 0) text += "deny:\n";
  for (std::size_t i = 0; i < entries; ++i) {
    const std::string key = ListedKey(i);
    // Three exact keys, one glob, one network, and so on.
    text += i % 5 == 3   ? "  - \"" + key.substr(0, key.size() - 1) + "*\"\n"
            : i % 5 == 4 ? "  - " + ListedIp(i) + "/32\n"
                         : "  - " + key + "\n";
  }
  return text;
}

}  // namespace sluice::bench

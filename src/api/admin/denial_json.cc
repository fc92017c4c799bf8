#include "api/admin/denial_json.h"

#include <array>
#include <chrono>

#include "answer/http_answer.h"
#include "api/admin/key_text.h"
#include "api/call_counters.h"
#include "api/call_record.h"
#include "base/json_writer.h"
#include "base/timestamp.h"

namespace sluice::api {
namespace {

using telemetry::DecisionRecord;

constexpr std::size_t kVersionsRemembered = 64;

std::string HexOf(std::uint32_t number) {
  std::string text(8, '0');
  for (std::size_t i = 8; i-- > 0; number >>= 4) text[i] = "0123456789abcdef"[number & 15];
  return text;
}

struct FoundLimit {
  std::string rule;
  std::string limit;
};

std::optional<FoundLimit> FindLimit(const rules::RuleFile& file, std::uint64_t hash) {
  for (const rules::Rule& rule : file.rules) {
    std::optional<FoundLimit> found;
    const auto look = [&](const rules::LimitVariants& variants) {
      const auto look_at = [&](const rules::Limits& limits) {
        for (const rules::NamedLimit& limit : limits) {
          if (HashOfLimit(rule.id, limit.name) == hash) found = {rule.id, limit.name};
        }
      };
      look_at(variants.usual);
      for (const auto& [tier, limits] : variants.by_tier) look_at(limits);
    };
    look(rule.variants);
    if (rule.rollout) look(rule.rollout->from);
    for (const rules::Override& other : rule.overrides) {
      look(other.variants);
      look(other.from);
    }
    if (found) return found;
  }
  return std::nullopt;
}

void AppendNumbers(std::int64_t cap, std::int64_t remaining, std::int64_t cost, Micros wait,
                   WallTime time, JsonWriter& json) {
  json.Key("numbers").BeginObject();
  json.Key("limit").Int(cap);
  json.Key("remaining").Int(remaining);
  json.Key("cost").Int(cost);
  json.EndObject();
  json.Key("retry_after_ms").Int(wait < Micros{0} ? -1 : MillisOf(wait));
  json.Key("passes_at");
  if (wait < Micros{0}) {
    json.Null();
  } else {
    json.String(FormatTimestamp(std::chrono::ceil<std::chrono::milliseconds>(time + wait)));
  }
}

}  // namespace

std::string VersionText(const LiveVersion<match::RuleSet>& version) {
  constexpr std::string_view kPrefix = "version ";
  return version.source.starts_with(kPrefix) ? version.source.substr(kPrefix.size())
                                             : std::to_string(version.number);
}

std::string KeyTextOf(const DecisionRecord& record) {
  std::string text(record.tag);
  if (!record.rest.empty()) text.append(":").append(record.rest);
  return text;
}

bool DenialFilter::Matches(const DecisionRecord& record) const {
  if (!rule.empty() && record.rule != rule) return false;
  if (key.empty() || record.tag == key || KeyTextOf(record) == key) return true;
  for (const Attribute& attribute : record.attributes) {
    if ((attribute.name == "api_key" || attribute.name == "api_key_hash") &&
        attribute.value == key) {
      return true;
    }
  }
  return false;
}

DenialWriter::DenialWriter(std::string node, std::string_view secret,
                           const Live<match::RuleSet>& rules)
    : node_(std::move(node)),
      ids_(secret.empty() ? std::nullopt : std::optional<DenialIds>(std::in_place, secret)),
      rules_(rules) {}

const DenialWriter::VersionName& DenialWriter::NameOf(std::uint64_t rules) {
  const auto found = versions_.find(rules);
  if (found != versions_.end()) return found->second;
  for (const LiveVersion<match::RuleSet>& version : rules_.Versions()) {
    versions_[version.number] = {.text = VersionText(version),
                                 .fingerprint = ShortFingerprint(version.fingerprint)};
  }
  while (versions_.size() > kVersionsRemembered) versions_.erase(versions_.begin());
  static const VersionName kUnknown;
  const auto known = versions_.find(rules);
  return known == versions_.end() ? kUnknown : known->second;
}

template <typename ShowKey>
void DenialWriter::AppendMembers(const DecisionRecord& record, const ShowKey& show_key,
                                 JsonWriter& json) {
  const VersionName& version = NameOf(record.rules);
  json.Key("time").String(FormatTimestamp(record.time));
  json.Key("outcome").String(LabelOf(static_cast<CallOutcome>(record.outcome)));
  const bool has_limit = !record.rule.empty();
  json.Key("id");
  if (ids_ && has_limit && !record.allowed) {
    std::string id;
    ids_->Append(FactsOf(record, version.fingerprint), id);
    json.String(id);
  } else {
    json.Null();
  }
  json.Key("rule");
  has_limit ? json.String(record.rule) : json.Null();
  json.Key("limit");
  has_limit ? json.String(record.limit) : json.Null();
  json.Key("key");
  if (!has_limit) {
    json.Null();
  } else {
    json.String(record.is_secret ? show_key(KeyTextOf(record)) : KeyTextOf(record));
  }
  json.Key("attributes").BeginObject();
  for (const Attribute& attribute : record.attributes) {
    if (attribute.name == "api_key_hash") {
      json.Key("api_key").String(attribute.value);
    } else if (attribute.name == "api_key") {
      json.Key("api_key").String(show_key(attribute.value));
    } else {
      json.Key(attribute.name).String(attribute.value);
    }
  }
  json.EndObject();
  if (has_limit) {
    AppendNumbers(record.cap, record.remaining, record.cost, record.wait, record.time, json);
  }
  json.Key("degraded").Bool(record.degraded);
  json.Key("protocol").String(LabelOf(static_cast<Protocol>(record.protocol)));
  json.Key("node").String(node_);
  json.Key("version").String(version.text);
}

void DenialWriter::Append(const DecisionRecord& record, std::uint64_t sequence,
                          const identity::Principal& principal, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Key("sequence").Uint(sequence);
  AppendMembers(
      record, [&](std::string_view key) { return KeyForPrincipal(principal, key); }, json);
  json.EndObject();
}

void DenialWriter::AppendForLog(const DecisionRecord& record,
                                const identity::Identifier& identifier, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  AppendMembers(record, [&](std::string_view key) { return KeyForRecord(identifier, key); }, json);
  json.EndObject();
  out += '\n';
}

std::optional<std::string> DenialWriter::Explain(std::string_view id) const {
  const auto facts = ids_ ? ids_->Read(id) : std::nullopt;
  if (!facts) return std::nullopt;
  const auto versions = rules_.Versions();
  const LiveVersion<match::RuleSet>* version = nullptr;
  std::optional<FoundLimit> limit;
  if (facts->limit_hash == HashOfLimit(kRequestRule, "")) {
    limit = {std::string(kRequestRule), ""};
  }
  // The version itself, then the newest that has the limit.
  for (std::size_t i = versions.size(); i-- > 0;) {
    if (ShortFingerprint(versions[i].fingerprint) != facts->rules_fingerprint) continue;
    version = &versions[i];
    if (!limit) limit = FindLimit(version->value->file(), facts->limit_hash);
    break;
  }
  for (std::size_t i = versions.size(); i-- > 0 && !limit;) {
    limit = FindLimit(versions[i].value->file(), facts->limit_hash);
  }
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  json.Key("id").String(id);
  json.Key("time").String(FormatTimestamp(facts->time));
  json.Key("rule");
  limit ? json.String(limit->rule) : json.Null();
  json.Key("limit");
  limit ? json.String(limit->limit) : json.Null();
  json.Key("rules").BeginObject();
  json.Key("version");
  version != nullptr ? json.String(VersionText(*version)) : json.Null();
  json.Key("fingerprint").String(HexOf(facts->rules_fingerprint));
  json.Key("active").Bool(version != nullptr && version == &versions.back());
  json.EndObject();
  AppendNumbers(facts->cap, facts->remaining, facts->cost, facts->wait, facts->time, json);
  json.Key("degraded").Bool(facts->degraded);
  json.EndObject();
  return out;
}

}  // namespace sluice::api

#include "match/entry_text.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/duration.h"
#include "base/fingerprint.h"
#include "base/host_name.h"
#include "base/network.h"
#include "base/stable_hash.h"
#include "base/timestamp.h"
#include "config_text/rate_text.h"
#include "config_text/suggestion.h"
#include "rules/glob.h"

namespace sluice::match {
namespace {

using config_text::Shown;
using rules::PatternKind;

constexpr std::int64_t kMaxFactor = 1'000'000;
constexpr int kMaxFactorScale = 6;
constexpr std::size_t kMaxAttributeName = 128;

// Members of requests, and of the control store.
constexpr auto kMembers = std::to_array<std::string_view>(
    {"match", "rule", "limit_name", "effect", "status", "reason", "expires_at", "expires_in", "id",
     "author", "created", "last_used", "penalty"});
constexpr auto kStoredMembers =
    std::to_array<std::string_view>({"match", "rule", "limit_name", "effect", "status", "reason",
                                     "expires_at", "author", "created", "penalty"});

bool HasControl(std::string_view text) { return std::any_of(text.begin(), text.end(), IsControl); }

bool IsKeyAttribute(std::string_view attribute) {
  return attribute == "api_key" || attribute == "key";
}

// Reads one entry; the first error ends it.
class EntryReader {
 public:
  EntryReader(std::string_view id, const EntryDefaults& defaults) : defaults_(defaults) {
    entry_.id = id;
  }

  EntryReadResult Read(const JsonValue& json, std::span<const std::string_view> members,
                       bool is_stored) && {
    if (!IsEntryId(entry_.id)) {
      Fail("id", "must have 1 to 128 letters, digits and . _ : @ -");
    } else if (!is_stored && !defaults_.is_file && entry_.id.starts_with(kPenaltyPrefix)) {
      Fail("id", "begins with penalty: as those of penalties, which only the server makes");
    } else if (!json.is_object()) {
      Fail("", "must be an object");
    } else if (OnlyKnown(json, members, "") && HasThisId(json) && ReadMatch(json) &&
               ReadRule(json) && ReadEffect(json) && ReadStatus(json) && ReadReason(json)) {
      const bool has_times = is_stored ? ReadStoredTimes(json) : ReadExpiry(json);
      if (has_times && (is_stored || defaults_.is_file)) ReadPenalty(json);
    }
    if (failed_) return {.entry = std::nullopt, .error = std::move(error_)};
    return {.entry = std::move(entry_), .error = {}};
  }

 private:
  bool Fail(std::string field, std::string message,
            EntryErrorCode code = EntryErrorCode::kInvalid) {
    failed_ = true;
    error_ = {.code = code, .field = std::move(field), .message = std::move(message)};
    return false;
  }

  bool OnlyKnown(const JsonValue& object, std::span<const std::string_view> members,
                 const std::string& path) {
    std::vector<std::string_view> seen;
    for (const JsonValue member : object) {
      if (std::find(members.begin(), members.end(), member.name()) == members.end()) {
        return Fail(path + std::string(member.name()),
                    "unknown field" + config_text::DidYouMean(member.name(), members),
                    EntryErrorCode::kUnknownField);
      }
      if (std::find(seen.begin(), seen.end(), member.name()) != seen.end()) {
        return Fail(path + std::string(member.name()), "is there twice",
                    EntryErrorCode::kDuplicateField);
      }
      seen.push_back(member.name());
    }
    return true;
  }

  bool HasThisId(const JsonValue& json) {
    const auto id = json.Find("id");
    return !id || id->String() == entry_.id || Fail("id", "is not the id of the path");
  }

  // An absent member and null are an empty text.
  bool ReadText(const JsonValue& json, std::string_view name, std::size_t max, std::string& out) {
    const auto value = json.Find(name);
    if (!value || value->is_null()) return true;
    const auto text = value->String();
    if (!text || text->size() > max || HasControl(*text)) {
      return Fail(std::string(name), "must be a string of at most " + std::to_string(max) +
                                         " bytes without control characters");
    }
    out = *text;
    return true;
  }

  bool ReadMatch(const JsonValue& json) {
    const auto match = json.Find("match");
    if (!match) return Fail("match", "is missing", EntryErrorCode::kMissing);
    if (!match->is_object()) {
      return Fail("match", "must be an object of attributes, such as {\"api_key\": \"sk_1\"}");
    }
    if (match->size() > kMaxEntryConditions) {
      return Fail("match", "has more than " + std::to_string(kMaxEntryConditions) + " attributes");
    }
    for (const JsonValue member : *match) {
      if (!ReadCondition(member)) return false;
    }
    std::sort(entry_.match.begin(), entry_.match.end(),
              [](const auto& a, const auto& b) { return a.attribute < b.attribute; });
    const auto twice =
        std::adjacent_find(entry_.match.begin(), entry_.match.end(),
                           [](const auto& a, const auto& b) { return a.attribute == b.attribute; });
    if (twice == entry_.match.end()) return true;
    return Fail("match." + twice->attribute, "is there twice", EntryErrorCode::kDuplicateField);
  }

  bool ReadCondition(const JsonValue& member) {
    const std::string path = "match." + std::string(member.name());
    if (member.name().empty() || member.name().size() > kMaxAttributeName ||
        HasControl(member.name())) {
      return Fail("match", "the name of an attribute has 1 to 128 bytes");
    }
    EntryCondition condition{.attribute = std::string(member.name())};
    JsonValue value = member;
    std::string_view form;
    if (member.is_object()) {
      if (member.size() != 1) {
        return Fail(path, "must have exactly one of equals, glob and cidr");
      }
      value = *member.begin();
      form = value.name();
      constexpr auto kForms = std::to_array<std::string_view>({"equals", "glob", "cidr"});
      if (!OnlyKnown(member, kForms, path + ".")) return false;
    }
    const auto text = value.String();
    if (!text || text->empty() || text->size() > kMaxEntryValue || HasControl(*text)) {
      return Fail(path, "must be a string of 1 to " + std::to_string(kMaxEntryValue) +
                            " bytes without control characters, or {\"equals\" | \"glob\" | "
                            "\"cidr\": such a string}");
    }
    condition.value = *text;
    const bool is_ip = condition.attribute == "ip";
    if (form == "glob") return AddGlob(std::move(condition), path);
    if (form == "cidr" && !is_ip) return Fail(path, "cidr is for the attribute `ip` only");
    if (is_ip) return AddAddress(std::move(condition), form, path);
    // A text with wildcards could be meant either way, and one of them may concern every caller.
    if (form.empty() && text->find_first_of("*?") != std::string_view::npos) {
      return Fail(path,
                  "has a wildcard: write {\"equals\": …} for exactly this value, or {\"glob\": …}");
    }
    return AddExact(std::move(condition));
  }

  bool AddAddress(EntryCondition condition, std::string_view form, const std::string& path) {
    if (const auto problem = NetworkProblem(condition.value)) {
      return Fail(path, "not an address or a network: " + *problem);
    }
    const bool is_network = condition.value.find('/') != std::string::npos;
    if (is_network && form == "equals") return Fail(path, "is a network: write {\"cidr\": …}");
    if (is_network || form == "cidr") {
      condition.kind = PatternKind::kCidr;
    } else {
      std::array<char, kMaxAddressText> text;
      condition.value = std::string(FormatAddress(*ParseAddress(condition.value), text));
    }
    entry_.match.push_back(std::move(condition));
    return true;
  }

  bool AddGlob(EntryCondition condition, const std::string& path) {
    if (condition.attribute == "ip") {
      return Fail(path, "an address has no glob: write a network such as 10.0.0.0/8");
    }
    if (defaults_.hash_key && IsKeyAttribute(condition.attribute)) {
      return Fail(path, "only hashes of keys are known (identity.hash_keys): a glob can't match");
    }
    if (const auto problem = rules::GlobProblem(condition.value)) return Fail(path, *problem);
    condition.kind = PatternKind::kGlob;
    if (condition.attribute == "host") condition.value = LowerCase(condition.value);
    if (condition.attribute == "method") condition.value = UpperCase(condition.value);
    entry_.match.push_back(std::move(condition));
    return true;
  }

  bool AddExact(EntryCondition condition) {
    std::string room;
    if (condition.attribute == "host") {
      condition.value = std::string(NormalizeHost(condition.value, room));
    } else if (condition.attribute == "method") {
      condition.value = UpperCase(condition.value);
    } else if (defaults_.hash_key && IsKeyAttribute(condition.attribute)) {
      condition.value = defaults_.hash_key(condition.value);
      if (condition.attribute == "api_key") condition.attribute = "api_key_hash";
    }
    entry_.match.push_back(std::move(condition));
    return true;
  }

  bool ReadRule(const JsonValue& json) {
    if (!ReadText(json, "rule", kMaxEntryValue, entry_.rule) ||
        !ReadText(json, "limit_name", kMaxEntryValue, entry_.limit_name)) {
      return false;
    }
    if (!entry_.limit_name.empty() && entry_.rule.empty()) {
      return Fail("rule", "is missing: `limit_name` is a limit of it", EntryErrorCode::kMissing);
    }
    return true;
  }

  bool ReadEffect(const JsonValue& json) {
    constexpr const char* kExpected =
        "must be \"block\", \"allow\", \"unlimited\", {\"limit\": \"50 per hour\"} or "
        "{\"multiply\": 2}";
    const auto effect = json.Find("effect");
    if (!effect) return Fail("effect", "is missing", EntryErrorCode::kMissing);
    if (const auto name = effect->String()) {
      for (const EntryEffect one :
           {EntryEffect::kBlock, EntryEffect::kAllow, EntryEffect::kUnlimited}) {
        if (LabelOf(one) != *name) continue;
        entry_.effect = one;
        if (one == EntryEffect::kBlock && !entry_.limit_name.empty()) {
          return Fail("limit_name", "a block concerns calls, not one of their limits");
        }
        return true;
      }
      return Fail("effect", kExpected);
    }
    if (!effect->is_object() || effect->size() != 1) return Fail("effect", kExpected);
    const JsonValue value = *effect->begin();
    if (value.name() == "limit") return ReadLimit(value);
    if (value.name() == "multiply") return ReadFactor(value);
    return Fail("effect", kExpected);
  }

  bool ReadLimit(const JsonValue& value) {
    constexpr const char* kExpected =
        "must be a rate such as \"50 per hour\", or a number to keep the limit's period";
    entry_.effect = EntryEffect::kLimit;
    const auto text = value.String() ? value.String() : value.Number();
    if (!text) return Fail("effect.limit", kExpected);
    if (config_text::IsPerCalendarTime(*text)) {
      return Fail("effect.limit",
                  "a month or a year has no fixed length; write the number alone to keep the "
                  "limit's period");
    }
    const auto rate = config_text::ParseRate(*text);
    if (!rate) return Fail("effect.limit", kExpected);
    const auto amount = ToWhole(rate->amount);
    if (!amount || *amount < 1 || *amount > kMaxAmount) {
      return Fail("effect.limit",
                  "must be a whole number from 1; to let nothing pass, use \"block\"");
    }
    const Micros period = rate->period.value_or(Micros{0});
    if (rate->period && (period <= Micros{0} || period > kMaxWindow)) {
      return Fail("effect.limit", "the period must be above 0 and at most 100 years");
    }
    entry_.limit = *amount;
    entry_.period = period;
    return true;
  }

  bool ReadFactor(const JsonValue& value) {
    entry_.effect = EntryEffect::kMultiply;
    const auto text = value.Number();
    const auto factor = text ? ParseDecimal(*text) : std::nullopt;
    // The value is digits / 10^scale.
    if (!factor || factor->digits <= 0 || factor->scale < 0 || factor->scale > kMaxFactorScale ||
        factor->digits > kMaxFactor * PowerOfTen(factor->scale)) {
      return Fail("effect.multiply",
                  "must be a number above 0 and at most 1000000, with at most 6 decimals");
    }
    entry_.factor = *factor;
    return true;
  }

  bool ReadStatus(const JsonValue& json) {
    const auto status = json.Find("status");
    if (!status || status->is_null()) return true;
    if (entry_.effect != EntryEffect::kBlock) {
      return Fail("status", "is for the effect \"block\" only");
    }
    const auto number = status->Whole();
    if (number != Entry::kForbidden && number != Entry::kTooManyRequests) {
      return Fail("status", "must be 403 or 429");
    }
    entry_.status = static_cast<int>(*number);
    return true;
  }

  bool ReadReason(const JsonValue& json) {
    return ReadText(json, "reason", kMaxEntryReason, entry_.reason);
  }

  std::optional<WallTime> ReadTime(const JsonValue& value, std::string_view name) {
    const auto text = value.String();
    const auto time = text ? ParseTimestamp(*text) : std::nullopt;
    if (!time) {
      Fail(std::string(name), "must be a time such as \"2026-12-01T18:00:00Z\"" +
                                  std::string(name == "expires_at" ? ", or null for never" : ""));
    }
    return time;
  }

  bool ReadExpiry(const JsonValue& json) {
    entry_.author = defaults_.author;
    entry_.created = defaults_.now;
    entry_.expires_at =
        defaults_.is_file ? Entry::kNever : WallTime(defaults_.now + kDefaultEntryLife);
    const auto at = json.Find("expires_at");
    const auto in = json.Find("expires_in");
    if (at && in) return Fail("expires_in", "can't be combined with `expires_at`");
    if (in) {
      const auto text = in->String();
      const auto life = text ? ParseDuration(*text) : std::nullopt;
      if (!life || *life <= Micros{0}) {
        return Fail("expires_in", "must be a duration such as \"2h\"");
      }
      entry_.expires_at = std::min(defaults_.now + *life, kMaxTime);
      return true;
    }
    if (!at) return true;
    if (at->is_null()) {
      entry_.expires_at = Entry::kNever;
      return true;
    }
    const auto time = ReadTime(*at, "expires_at");
    if (!time) return false;
    if (*time <= defaults_.now && !defaults_.is_file) return Fail("expires_at", "is in the past");
    entry_.expires_at = *time;
    return true;
  }

  bool ReadStoredTimes(const JsonValue& json) {
    if (!ReadText(json, "author", kMaxEntryValue, entry_.author)) return false;
    const auto created = json.Find("created");
    const auto time = created ? ReadTime(*created, "created") : std::nullopt;
    if (!created) return Fail("created", "is missing", EntryErrorCode::kMissing);
    if (!time) return false;
    entry_.created = *time;
    const auto expires = json.Find("expires_at");
    if (!expires || expires->is_null()) return true;
    const auto end = ReadTime(*expires, "expires_at");
    if (!end) return false;
    entry_.expires_at = *end;
    return true;
  }

  bool ReadPenalty(const JsonValue& json) {
    const auto value = json.Find("penalty");
    if (!value || value->is_null()) return true;
    EntryPenalty penalty;
    const auto step = value->Find("step");
    const auto offenses = value->Find("offenses");
    const auto forgotten = value->Find("forgotten_at");
    const bool is_complete = value->is_object() && step && step->Whole() && *step->Whole() > 0 &&
                             offenses && offenses->Whole() && *offenses->Whole() > 0 && forgotten;
    if (!is_complete) return Fail("penalty", "must have step, offenses and forgotten_at");
    penalty.step = static_cast<std::uint32_t>(*step->Whole());
    penalty.offenses = static_cast<std::uint64_t>(*offenses->Whole());
    const auto time = ReadTime(*forgotten, "penalty.forgotten_at");
    if (!time) return false;
    penalty.forgotten_at = *time;
    if (!ReadText(*value, "rule", kMaxEntryValue, penalty.rule) ||
        !ReadText(*value, "rules_version", kMaxEntryValue, penalty.rules_version)) {
      return false;
    }
    const auto flag = [&](std::string_view name) {
      const auto member = value->Find(name);
      return member && member->Bool().value_or(false);
    };
    penalty.shadow = flag("shadow");
    penalty.without_key = flag("without_key");
    entry_.penalty = std::move(penalty);
    return true;
  }

  const EntryDefaults& defaults_;
  Entry entry_;
  bool failed_ = false;
  EntryError error_;
};

std::string FactorText(const Decimal& factor) {
  std::string digits = std::to_string(factor.digits);
  const auto scale = static_cast<std::size_t>(factor.scale);
  if (scale == 0) return digits;
  if (digits.size() <= scale) digits.insert(0, scale + 1 - digits.size(), '0');
  digits.insert(digits.size() - scale, ".");
  return digits;
}

std::string RateText(const Entry& entry) {
  std::string text = std::to_string(entry.limit);
  if (entry.period != Micros{0}) text += " per " + FormatDuration(entry.period);
  return text;
}

void AppendCondition(const EntryCondition& condition, JsonWriter& json,
                     const std::function<std::string(std::string_view)>& shown) {
  const bool hides = shown != nullptr && IsKeyAttribute(condition.attribute);
  const std::string value = hides ? shown(condition.value) : condition.value;
  json.Key(condition.attribute);
  const bool is_glob = condition.kind == PatternKind::kGlob;
  const bool is_ip = condition.attribute == "ip";
  const bool is_plain =
      is_ip ? (condition.kind == PatternKind::kCidr) == (value.find('/') != std::string::npos)
            : !is_glob && value.find_first_of("*?") == std::string::npos;
  if (is_plain) {
    json.String(value);
    return;
  }
  json.BeginObject();
  json.Key(is_glob ? "glob" : is_ip ? "cidr" : "equals").String(value);
  json.EndObject();
}

void AppendNullable(std::string_view name, const std::string& text, JsonWriter& json) {
  json.Key(name);
  text.empty() ? json.Null() : json.String(text);
}

}  // namespace

bool IsEntryId(std::string_view id) {
  return !id.empty() && id.size() <= kMaxEntryId &&
         std::all_of(id.begin(), id.end(),
                     [](char c) {
                       return IsLetter(c) || IsDigit(c) ||
                              std::string_view("._:@-").find(c) != std::string_view::npos;
                     }) &&
         id != "." && id != "..";
}

EntryReadResult ReadEntry(std::string_view id, const JsonValue& json,
                          const EntryDefaults& defaults) {
  return EntryReader(id, defaults).Read(json, kMembers, false);
}

EntryListResult ReadEntries(const JsonValue& json, const EntryDefaults& defaults) {
  const auto fail = [](EntryErrorCode code, std::string field, std::string message) {
    return EntryListResult{
        .entries = {},
        .error =
            EntryError{.code = code, .field = std::move(field), .message = std::move(message)}};
  };
  std::optional<JsonValue> list = json;
  if (json.is_object()) {
    list = json.Find("entries");
    if (!list) return fail(EntryErrorCode::kMissing, "entries", "is missing");
    for (const JsonValue member : json) {
      if (member.name() == "entries" || member.name() == "cursor") continue;
      return fail(EntryErrorCode::kUnknownField, std::string(member.name()), "unknown field");
    }
  }
  if (!list->is_array()) {
    return fail(EntryErrorCode::kInvalid, "entries", "must be a list of entries");
  }
  EntryListResult result;
  result.entries.reserve(list->size());
  std::unordered_set<std::string_view> ids;
  for (const JsonValue value : *list) {
    const std::string path = "entries[" + std::to_string(result.entries.size()) + "]";
    const auto member = value.is_object() ? value.Find("id") : std::nullopt;
    const auto id = member ? member->String() : std::nullopt;
    if (!id) return fail(EntryErrorCode::kMissing, path + ".id", "is missing");
    EntryReadResult read = ReadEntry(*id, value, defaults);
    if (!read.entry) {
      if (!read.error.field.empty()) read.error.field.insert(0, ".");
      read.error.field.insert(0, path);
      return {.entries = {}, .error = std::move(read.error)};
    }
    if (!ids.insert(*id).second) {
      return fail(EntryErrorCode::kDuplicateField, path + ".id", "is there twice");
    }
    result.entries.push_back(*std::move(read.entry));
  }
  return result;
}

EntryReadResult ReadStoredEntry(std::string_view id, std::string_view text) {
  JsonDocument document;
  const auto json = document.Parse(text);
  if (!json) {
    return {.entry = std::nullopt,
            .error = {.code = EntryErrorCode::kInvalid,
                      .field = {},
                      .message = std::string(document.error())}};
  }
  const EntryDefaults none;
  return EntryReader(id, none).Read(*json, kStoredMembers, true);
}

void AppendMembers(const Entry& entry, JsonWriter& json,
                   const std::function<std::string(std::string_view)>& shown) {
  json.Key("match").BeginObject();
  for (const EntryCondition& condition : entry.match) AppendCondition(condition, json, shown);
  json.EndObject();
  AppendNullable("rule", entry.rule, json);
  AppendNullable("limit_name", entry.limit_name, json);
  json.Key("effect");
  if (entry.effect == EntryEffect::kLimit) {
    json.BeginObject().Key("limit").String(RateText(entry)).EndObject();
  } else if (entry.effect == EntryEffect::kMultiply) {
    json.BeginObject().Key("multiply").Literal(FactorText(entry.factor)).EndObject();
  } else {
    json.String(LabelOf(entry.effect));
  }
  if (entry.effect == EntryEffect::kBlock) json.Key("status").Int(entry.status);
  json.Key("reason").String(entry.reason);
  json.Key("author").String(entry.author);
  json.Key("created").String(FormatTimestamp(entry.created));
  json.Key("expires_at");
  entry.expires_at == Entry::kNever ? json.Null() : json.String(FormatTimestamp(entry.expires_at));
  if (!entry.penalty) return;
  const EntryPenalty& penalty = *entry.penalty;
  json.Key("penalty").BeginObject();
  json.Key("rule").String(penalty.rule);
  json.Key("rules_version").String(penalty.rules_version);
  json.Key("step").Uint(penalty.step);
  json.Key("offenses").Uint(penalty.offenses);
  json.Key("forgotten_at").String(FormatTimestamp(penalty.forgotten_at));
  json.Key("shadow").Bool(penalty.shadow);
  json.Key("without_key").Bool(penalty.without_key);
  json.EndObject();
}

std::string StoredText(const Entry& entry) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  AppendMembers(entry, json);
  json.EndObject();
  return text;
}

std::string EffectText(const Entry& entry) {
  std::string text(LabelOf(entry.effect));
  if (entry.effect == EntryEffect::kLimit) text += " " + RateText(entry);
  if (entry.effect == EntryEffect::kMultiply) text += " " + FactorText(entry.factor);
  return text;
}

std::string MatchText(const Entry& entry) {
  if (entry.match.empty()) return "every call";
  std::string text;
  for (const EntryCondition& condition : entry.match) {
    if (!text.empty()) text += ", ";
    text += condition.attribute + "=" + condition.value;
  }
  return text;
}

std::string BlockIdOf(std::vector<std::pair<std::string, std::string>> attributes) {
  std::sort(attributes.begin(), attributes.end());
  std::string text;
  for (const auto& [name, value] : attributes) text.append(name).append("\n").append(value) += '\n';
  std::uint64_t hash = StableHash("block", text);
  std::string id = "block-";
  for (int i = 0; i < 8; ++i, hash <<= 8) AppendHex(static_cast<char>(hash >> 56), id);
  return id;
}

std::string PenaltyIdOf(const Entry& entry, std::string_view rule) {
  std::string text(rule);
  text.push_back('\0');
  text.append(entry.rule).push_back('\0');
  for (const EntryCondition& condition : entry.match) {
    text.append(condition.attribute).push_back('\0');
    text.append(condition.value).push_back('\0');
  }
  if (entry.penalty && entry.penalty->without_key) text.append("without key");
  constexpr std::size_t kDigits = 32;
  return std::string(kPenaltyPrefix) + Fingerprint(text).substr(0, kDigits);
}

std::optional<EntryError> CheckEntry(const Entry& entry, const rules::RuleFile& rules) {
  if (entry.rule.empty()) return std::nullopt;
  const auto found = std::find_if(rules.rules.begin(), rules.rules.end(),
                                  [&](const rules::Rule& rule) { return rule.id == entry.rule; });
  if (found == rules.rules.end()) {
    std::vector<std::string_view> ids;
    for (const rules::Rule& rule : rules.rules) ids.push_back(rule.id);
    return EntryError{.field = "rule",
                      .message = "there is no rule " + Shown(entry.rule) +
                                 config_text::DidYouMean(entry.rule, ids)};
  }
  // All variants of a rule have the same names.
  const rules::Limits& limits = !found->variants.usual.empty() || found->variants.by_tier.empty()
                                    ? found->variants.usual
                                    : found->variants.by_tier.begin()->second;
  std::string names;
  for (const rules::NamedLimit& limit : limits) {
    if (limit.name == entry.limit_name) return std::nullopt;
    names.append(names.empty() ? "" : ", ").append(limit.name);
  }
  if (!entry.limit_name.empty()) {
    return EntryError{.field = "limit_name",
                      .message = "rule " + Shown(entry.rule) + " has no limit " +
                                 Shown(entry.limit_name) + "; it has: " + names};
  }
  if (entry.effect != EntryEffect::kLimit || limits.size() <= 1) return std::nullopt;
  return EntryError{.code = EntryErrorCode::kMissing,
                    .field = "limit_name",
                    .message = "is missing: rule " + Shown(entry.rule) +
                               " has several limits; give one of: " + names};
}

}  // namespace sluice::match

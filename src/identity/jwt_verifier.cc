#include "identity/jwt_verifier.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "base/ascii.h"
#include "base/base64url.h"
#include "base/json_reader.h"
#include "base/parse_number.h"

namespace sluice::identity {
namespace {

struct Parts {
  std::string_view header, payload, signature, signed_text;
};

std::optional<Parts> Split(std::string_view token) {
  const std::size_t first = token.find('.');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = token.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  if (token.find('.', second + 1) != std::string_view::npos) return std::nullopt;
  return Parts{.header = token.substr(0, first),
               .payload = token.substr(first + 1, second - first - 1),
               .signature = token.substr(second + 1),
               .signed_text = token.substr(0, second)};
}

// Something that is wanted once.
struct Member {
  std::string_view name;
  std::optional<JsonValue> value{};
};

// Sets the members of the object. Returns false if it is not an object, or has a duplicate member:
// another parser might use the other one.
bool FindMembers(JsonDocument& document, std::string_view object, std::span<Member> members) {
  const auto value = document.Parse(object);
  if (!value || !value->is_object()) return false;
  for (const JsonValue item : *value) {
    for (Member& member : members) {
      if (item.name() != member.name) continue;
      if (member.value) return false;
      member.value = item;
    }
  }
  return true;
}

// Seconds since the epoch, which may have a fraction.
std::optional<WallTime> TimeOf(const JsonValue& value) {
  const auto seconds = ParseNumber<double>(value.Number().value_or(""));
  if (!seconds || !std::isfinite(*seconds) || *seconds < 0) return std::nullopt;
  const double micros = *seconds * 1e6;
  const double most = static_cast<double>(kMaxTime.time_since_epoch().count());
  return WallTime(Micros(static_cast<std::int64_t>(std::min(micros, most))));
}

bool HasAudience(const JsonValue& value, std::string_view audience) {
  if (!value.is_array()) return value.String() == audience;
  for (const JsonValue item : value) {
    if (item.String() == audience) return true;
  }
  return false;
}

// Returns the text of a claim: strings, and numbers and booleans as written.
std::optional<std::string> AttributeOf(const JsonValue& value) {
  switch (value.kind()) {
    case JsonValue::Kind::kString:
      break;
    case JsonValue::Kind::kNull:
      return "";
    case JsonValue::Kind::kObject:
    case JsonValue::Kind::kArray:
      return std::nullopt;
    default:
      if (value.raw().size() > kMaxClaimBytes) return std::nullopt;
      return std::string(value.raw());
  }
  const std::string_view text = *value.String();
  if (text.size() > kMaxClaimBytes || std::any_of(text.begin(), text.end(), IsControl)) {
    return std::nullopt;
  }
  return std::string(text);
}

}  // namespace

std::string_view Describe(JwtStatus status) {
  switch (status) {
    case JwtStatus::kValid:
      return "the token is valid";
    case JwtStatus::kNotAToken:
      return "this is no token";
    case JwtStatus::kMalformed:
      return "the token is malformed";
    case JwtStatus::kAlgorithm:
      return "the token is not signed with HS256, RS256 or ES256";
    case JwtStatus::kNoKey:
      return "no key matches the token";
    case JwtStatus::kSignature:
      return "the token's signature is wrong";
    case JwtStatus::kExpired:
      return "the token has expired";
    case JwtStatus::kNotYetValid:
      return "the token is not valid yet";
    case JwtStatus::kIssuer:
      return "the token is from another issuer";
    case JwtStatus::kAudience:
      return "the token is for another audience";
    case JwtStatus::kUnusableClaim:
      return "a claim of the token can't be used";
  }
  return "the token is refused";
}

void AppendValue(std::string_view value, std::string& packed) {
  packed.push_back(static_cast<char>(value.size() >> 8));
  packed.push_back(static_cast<char>(value.size() & 0xFF));
  packed.append(value);
}

std::string_view TakeValue(std::string_view& packed) {
  const std::size_t size = std::size_t{static_cast<unsigned char>(packed[0])} << 8 |
                           static_cast<unsigned char>(packed[1]);
  const std::string_view value = packed.substr(2, size);
  packed.remove_prefix(2 + size);
  return value;
}

JwtStatus JwtVerifier::Read(std::string_view token, JwtContent& content) const {
  const auto parts = Split(token);
  if (!parts) return JwtStatus::kNotAToken;
  if (token.size() > kMaxTokenBytes) return JwtStatus::kMalformed;
  std::string header;
  std::string payload;
  std::string signature;
  if (!DecodeBase64Url(parts->header, header) || !DecodeBase64Url(parts->payload, payload) ||
      !DecodeBase64Url(parts->signature, signature)) {
    return JwtStatus::kMalformed;
  }
  if (!rules_.unverified) {
    const JwtStatus status = CheckSignature(header, parts->signed_text, signature);
    if (status != JwtStatus::kValid) return status;
  }
  return ReadClaims(payload, content);
}

JwtStatus JwtVerifier::CheckSignature(std::string_view header, std::string_view signed_text,
                                      std::string_view signature) const {
  Member members[] = {{"alg"}, {"kid"}, {"crit"}};
  const auto& [alg, kid, crit] = members;
  // Extensions in `crit` must be supported, and none is.
  JsonDocument document;
  if (!FindMembers(document, header, members) || !alg.value || crit.value)
    return JwtStatus::kMalformed;
  const auto algorithm = ParseJwtAlgorithm(alg.value->String().value_or(""));
  if (!algorithm) return JwtStatus::kAlgorithm;
  if (kid.value && !kid.value->String()) return JwtStatus::kMalformed;
  const std::string_view id = kid.value ? *kid.value->String() : "";
  JwtStatus status = JwtStatus::kNoKey;
  const auto of_algorithm = [&](const JwtKey& key) { return key.algorithm() == *algorithm; };
  const bool only_one = std::count_if(keys_.begin(), keys_.end(), of_algorithm) == 1;
  for (const JwtKey& key : keys_) {
    if (!of_algorithm(key)) continue;
    const bool meant = key.id().empty() || (id.empty() ? only_one : key.id() == id);
    if (!meant) continue;
    if (key.Verifies(signature, signed_text)) return JwtStatus::kValid;
    status = JwtStatus::kSignature;
  }
  return status;
}

JwtStatus JwtVerifier::ReadClaims(std::string_view payload, JwtContent& content) const {
  std::vector<Member> members = {{"exp"}, {"nbf"}, {"iss"}, {"aud"}};
  for (const ClaimUse& use : rules_.claims) members.push_back({use.claim});
  JsonDocument document;
  if (!FindMembers(document, payload, members)) return JwtStatus::kMalformed;
  content = {};
  if (const auto& exp = members[0].value) {
    const auto time = TimeOf(*exp);
    if (!time) return JwtStatus::kMalformed;
    content.expires = std::min(*time + rules_.leeway, kMaxTime);
  } else if (rules_.require_expiry) {
    return JwtStatus::kExpired;
  }
  if (const auto& nbf = members[1].value) {
    const auto time = TimeOf(*nbf);
    if (!time) return JwtStatus::kMalformed;
    content.not_before = *time - rules_.leeway;
  }
  const auto& issuer = members[2].value;
  if (!rules_.issuer.empty() && (!issuer || issuer->String() != rules_.issuer)) {
    return JwtStatus::kIssuer;
  }
  const auto& audience = members[3].value;
  if (!rules_.audience.empty() && (!audience || !HasAudience(*audience, rules_.audience))) {
    return JwtStatus::kAudience;
  }
  for (const Member& member : std::span(members).subspan(4)) {
    const auto text = member.value ? AttributeOf(*member.value) : std::string();
    if (!text) return JwtStatus::kUnusableClaim;
    AppendValue(*text, content.packed);
  }
  return JwtStatus::kValid;
}

}  // namespace sluice::identity

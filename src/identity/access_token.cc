#include "identity/access_token.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/base64url.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/random.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "identity/key_digest.h"

namespace sluice::identity {
namespace {

constexpr std::size_t kIdBytes = 8;
constexpr std::size_t kSecretBytes = 32;

std::string HexOf(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kHexDigits[byte >> 4]);
    text.push_back(kHexDigits[byte & 15]);
  }
  return text;
}

bool IsLabel(std::string_view text) {
  return text.size() <= kMaxTokenName && IsUtf8(text) &&
         std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c < ' ' || c == 0x7F; });
}

}  // namespace

std::string GenerateSecret(AccessToken& token) {
  token.id = HexOf(RandomBytes(kIdBytes));
  std::string text(kTokenPrefix);
  text.append(token.id).append("_");
  AppendBase64Url(RandomBytes(kSecretBytes), text);
  KeyDigest::Buffer room;
  token.hash = KeyDigest()(text, room);
  return text;
}

std::string_view TokenIdOf(std::string_view text) {
  if (!text.starts_with(kTokenPrefix)) return {};
  text.remove_prefix(kTokenPrefix.size());
  const std::size_t end = text.find('_');
  return end == std::string_view::npos || end + 1 == text.size() ? std::string_view{}
                                                                 : text.substr(0, end);
}

std::optional<std::string> FindTokenProblem(const AccessToken& token) {
  if (token.name.empty() || !IsLabel(token.name)) {
    return "name: must be 1 to 100 bytes of UTF-8 without control characters";
  }
  if (!IsLabel(token.scope)) {
    return "scope: must be at most 100 bytes of UTF-8 without control characters";
  }
  if (token.role == Role::kNone) {
    return "role: must be checker, viewer, operator, editor or admin";
  }
  if (token.role == Role::kAdmin && !token.scope.empty()) {
    return "scope: an admin creates tokens of any scope, so a token with the role admin has none";
  }
  return std::nullopt;
}

std::string ToRecordText(const AccessToken& token) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Key("name").String(token.name);
  json.Key("role").String(LabelOf(token.role));
  json.Key("scope").String(token.scope);
  json.Key("hash").String(token.hash);
  json.Key("author").String(token.author);
  json.Key("created").String(FormatTimestamp(token.created));
  if (token.expires_at != kMaxTime) {
    json.Key("expires_at").String(FormatTimestamp(token.expires_at));
  }
  json.EndObject();
  return text;
}

std::optional<AccessToken> ParseRecordText(std::string_view id, std::string_view text) {
  JsonDocument document;
  const auto object = document.Parse(text);
  if (!object || !object->is_object()) return std::nullopt;
  const auto member = [&](std::string_view name) {
    const auto value = object->Find(name);
    return value ? value->String().value_or("") : std::string_view{};
  };
  const auto role = ParseRole(member("role"));
  if (!role || !KeyDigest::IsDigest(member("hash"))) return std::nullopt;
  AccessToken token{.id = std::string(id),
                    .name = std::string(member("name")),
                    .role = *role,
                    .scope = std::string(member("scope")),
                    .hash = std::string(member("hash")),
                    .author = std::string(member("author")),
                    .created = ParseTimestamp(member("created")).value_or(WallTime{})};
  if (const auto expiry = object->Find("expires_at")) {
    const auto time = ParseTimestamp(expiry->String().value_or(""));
    if (!time) return std::nullopt;  // Rather no token than one that does not expire.
    token.expires_at = *time;
  }
  return token;
}

std::optional<Role> ParseRole(std::string_view name) {
  for (const Role role :
       {Role::kChecker, Role::kViewer, Role::kOperator, Role::kEditor, Role::kAdmin}) {
    if (LabelOf(role) == name) return role;
  }
  return std::nullopt;
}

}  // namespace sluice::identity

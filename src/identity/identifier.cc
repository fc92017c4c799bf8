#include "identity/identifier.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/read_file.h"
#include "identity/credentials.h"

namespace sluice::identity {
namespace {

Error Wrong(const std::string& what) { return {ErrorCode::kInvalidOptions, what}; }

bool IsUsable(std::string_view credential) {
  return credential.size() <= kMaxCredentialBytes &&
         std::none_of(credential.begin(), credential.end(), IsControl);
}

Credential Find(const Source& source, const Request& request, std::string& buffer) {
  switch (source.kind) {
    case Source::Kind::kHeader:
      return FindHeader(request.headers, source.name);
    case Source::Kind::kBearer:
      return FindBearer(request.headers);
    case Source::Kind::kQuery:
      return FindQuery(request.query, source.name, buffer);
    case Source::Kind::kCookie:
      return FindCookie(request.headers, source.name);
    case Source::Kind::kJwt:
      break;
  }
  return {};
}

// Attributes that only the server itself may set.
bool IsReserved(std::string_view attribute) {
  return attribute.empty() || attribute == "ip" || attribute == "ip_network" ||
         attribute == "api_key_hash";
}

}  // namespace

Result<Identifier> Identifier::Make(IdentityOptions options) {
  Identifier identifier(std::move(options));
  if (auto error = identifier.Prepare()) return *std::move(error);
  return identifier;
}

std::optional<Error> Identifier::Prepare() {
  auto proxies = TrustedProxies::Parse(options_.trusted_proxies);
  if (!proxies) return proxies.error();
  proxies_ = *std::move(proxies);
  if (options_.ipv6_prefix < 1 || options_.ipv6_prefix > 128) {
    return Wrong("the prefix of IPv6 must be a number from 1 to 128");
  }
  if (!options_.hash_secret_file.empty()) {
    auto secret = ReadSecretFile(options_.hash_secret_file);
    if (!secret) return Wrong(options_.hash_secret_file + ": " + secret.error().message);
    options_.hash_secret = *std::move(secret);
  }
  if (options_.hash_keys && options_.hash_secret.size() < 16) {
    return Wrong("hashed keys need a secret of 16 bytes at least: without one they can be guessed");
  }
  if (!options_.hash_secret.empty()) digest_ = KeyDigest(options_.hash_secret);
  const bool uses_tokens =
      std::any_of(options_.sources.begin(), options_.sources.end(),
                  [](const Source& source) { return source.kind == Source::Kind::kJwt; });
  return uses_tokens ? PrepareTokens() : std::nullopt;
}

std::optional<Error> Identifier::PrepareTokens() {
  const JwtOptions& jwt = options_.jwt;
  if (jwt.from.kind == Source::Kind::kJwt) return Wrong("jwt: a token can't be taken from a token");
  if (jwt.rules.claims.empty()) return Wrong("jwt: no claim is used");
  for (const ClaimUse& use : jwt.rules.claims) {
    const bool twice =
        std::count_if(jwt.rules.claims.begin(), jwt.rules.claims.end(),
                      [&](const ClaimUse& other) { return other.attribute == use.attribute; }) > 1;
    if (use.claim.empty() || IsReserved(use.attribute) || twice) {
      return Wrong("jwt: the claim \"" + use.claim + "\" can't become the attribute \"" +
                   use.attribute + "\"");
    }
  }
  auto read = ReadJwtKeyFiles(jwt.key_files);
  if (!read) return read.error();
  std::vector<JwtKey> keys = *std::move(read);
  if (!jwt.secret_file.empty()) {
    const auto content = ReadSecretFile(jwt.secret_file);
    if (!content) return Wrong(jwt.secret_file + ": " + content.error().message);
    auto key = ReadJwtSecret(*content, jwt.secret_file);
    if (!key) return key.error();
    keys.push_back(*std::move(key));
  }
  if (keys.empty() != jwt.rules.unverified) {
    return Wrong(keys.empty()
                     ? "jwt: there is no key to verify tokens; set `unverified` if a proxy in "
                       "front has verified them"
                     : "jwt: there are keys, but `unverified` is set");
  }
  verifier_ = std::make_unique<const JwtVerifier>(jwt.rules, std::move(keys));
  cache_ = std::make_unique<TokenCache>();
  return std::nullopt;
}

std::string_view Identifier::ShownKey(std::string_view key, KeyDigest::Buffer& buffer) const {
  if (!options_.hash_keys && key.size() <= kMaxPlainKeyBytes) return key;
  return digest_(key, buffer);
}

void Identifier::AddKey(std::string_view key, Caller& caller) const {
  caller.attributes_.push_back({"api_key", key});
  const std::string_view shown = ShownKey(key, caller.digest_);
  if (shown.data() != key.data()) caller.attributes_.push_back({"api_key_hash", shown});
}

std::optional<std::string_view> Identifier::CountedNetwork(const Address& address,
                                                           NetworkText& buffer) const {
  if (address.is_v4() || options_.ipv6_prefix == 128) return std::nullopt;
  std::array<char, kMaxAddressText> base;
  const std::string_view text = FormatAddress(Masked(address, options_.ipv6_prefix), base);
  char* to = std::copy(text.begin(), text.end(), buffer.begin());
  const std::string prefix = "/" + std::to_string(options_.ipv6_prefix);  // Short: in place.
  to = std::copy(prefix.begin(), prefix.end(), to);
  return std::string_view(buffer.data(), static_cast<std::size_t>(to - buffer.data()));
}

void Identifier::AddAddress(Caller& caller) const {
  if (!caller.address_) return;
  const Address& address = *caller.address_;
  caller.attributes_.push_back({"ip", FormatAddress(address, caller.address_text_)});
  if (const auto network = CountedNetwork(address, caller.network_text_)) {
    caller.attributes_.push_back({"ip_network", *network});
  }
}

Outcome Identifier::Identify(const Request& request, WallTime now, Caller& caller) const {
  caller.attributes_.clear();
  caller.problem_ = {};
  caller.address_ =
      FindClientAddress(request.peer, request.headers, options_.address_header, proxies_);
  AddAddress(caller);
  for (const Source& source : options_.sources) {
    switch (TrySource(source, request, now, caller)) {
      case SourceOutcome::kGoOn:
        continue;
      case SourceOutcome::kStop:
        return Outcome::kKnown;
      case SourceOutcome::kBadCredential:
        return Outcome::kBadCredential;
      case SourceOutcome::kBadToken:
        return Outcome::kBadToken;
    }
  }
  return Outcome::kKnown;
}

Identifier::SourceOutcome Identifier::TrySource(const Source& source, const Request& request,
                                                WallTime now, Caller& caller) const {
  const bool is_token = source.kind == Source::Kind::kJwt;
  const Credential found = Find(is_token ? options_.jwt.from : source, request, caller.query_);
  if (found.status == Credential::Status::kAbsent) return SourceOutcome::kGoOn;
  if (found.status == Credential::Status::kSeveral) {
    caller.problem_ = "the request has several different credentials of one kind";
    return SourceOutcome::kBadCredential;
  }
  if (!IsUsable(found.value)) {
    caller.problem_ = "a credential is too long or has control characters";
    return SourceOutcome::kBadCredential;
  }
  if (is_token) return UseToken(found.value, now, caller);
  AddKey(found.value, caller);
  return SourceOutcome::kStop;
}

JwtStatus Identifier::CheckToken(std::string_view token, WallTime now, JwtContent& content) const {
  if (cache_->Find(token, content)) return content.StatusAt(now);
  const JwtStatus status = verifier_->Read(token, content);
  if (status != JwtStatus::kValid) return status;
  const JwtStatus at_now = content.StatusAt(now);
  if (at_now == JwtStatus::kValid) cache_->Put(token, content);
  return at_now;
}

Identifier::SourceOutcome Identifier::UseToken(std::string_view token, WallTime now,
                                               Caller& caller) const {
  const JwtStatus status = CheckToken(token, now, caller.token_);
  if (status == JwtStatus::kNotAToken) return SourceOutcome::kGoOn;
  if (status != JwtStatus::kValid) {
    if (options_.jwt.on_invalid == OnInvalidToken::kAnonymous) return SourceOutcome::kStop;
    caller.problem_ = Describe(status);
    return SourceOutcome::kBadToken;
  }
  std::string_view packed = caller.token_.packed;
  bool any = false;
  for (const ClaimUse& use : options_.jwt.rules.claims) {
    const std::string_view value = TakeValue(packed);
    if (value.empty()) continue;
    any = true;
    if (use.attribute == "api_key") {
      AddKey(value, caller);
    } else {
      caller.attributes_.push_back({use.attribute, value});
    }
  }
  return any ? SourceOutcome::kStop : SourceOutcome::kGoOn;
}

}  // namespace sluice::identity

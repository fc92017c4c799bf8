#include "identity/jwk.h"

#include <memory>
#include <optional>
#include <utility>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "base/base64url.h"
#include "base/json_reader.h"

namespace sluice::identity {
namespace {

struct Free {
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(OSSL_PARAM_BLD* builder) const { OSSL_PARAM_BLD_free(builder); }
  void operator()(OSSL_PARAM* parameters) const { OSSL_PARAM_free(parameters); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// The members of one key, as texts.
struct Jwk {
  std::string kty, use, alg, kid, crv;
  std::string n, e, x, y, k;  ///< Decoded.
};

Owned<BIGNUM> NumberOf(std::string_view bytes) {
  return Owned<BIGNUM>(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                                 static_cast<int>(bytes.size()), nullptr));
}

EVP_PKEY* MakeKey(const char* kind, OSSL_PARAM_BLD* builder) {
  const Owned<OSSL_PARAM> parameters(OSSL_PARAM_BLD_to_param(builder));
  const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* key = nullptr;
  if (parameters == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    return nullptr;
  }
  return key;
}

EVP_PKEY* MakeRsa(const Jwk& jwk) {
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  const auto n = NumberOf(jwk.n);
  const auto e = NumberOf(jwk.e);
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
  return MakeKey("RSA", builder.get());
}

EVP_PKEY* MakeP256(const Jwk& jwk) {
  constexpr std::size_t kCoordinate = 32;
  if (jwk.x.size() != kCoordinate || jwk.y.size() != kCoordinate) return nullptr;
  const std::string point = '\x04' + jwk.x + jwk.y;
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                   point.size());
  return MakeKey("EC", builder.get());
}

bool ReadMembers(const JsonValue& object, Jwk& jwk) {
  const std::pair<std::string_view, std::string*> kTexts[] = {{"kty", &jwk.kty},
                                                              {"use", &jwk.use},
                                                              {"alg", &jwk.alg},
                                                              {"kid", &jwk.kid},
                                                              {"crv", &jwk.crv}};
  const std::pair<std::string_view, std::string*> kNumbers[] = {
      {"n", &jwk.n}, {"e", &jwk.e}, {"x", &jwk.x}, {"y", &jwk.y}, {"k", &jwk.k}};
  for (const JsonValue item : object) {
    const auto text = item.String();
    if (!text) continue;
    for (const auto& [name, place] : kNumbers) {
      if (item.name() == name && !DecodeBase64Url(*text, *place)) return false;
    }
    for (const auto& [name, place] : kTexts) {
      if (item.name() == name) *place = *text;
    }
  }
  return true;
}

bool IsFor(const Jwk& jwk, std::string_view kty, std::string_view alg) {
  return jwk.kty == kty && (jwk.alg.empty() || jwk.alg == alg);
}

// Nothing: a key for something else.
std::optional<Result<JwtKey>> KeyOf(const Jwk& jwk, const std::string& name) {
  if (!jwk.use.empty() && jwk.use != "sig") return std::nullopt;
  const std::string which = jwk.kid.empty() ? "a key" : "the key \"" + jwk.kid + "\"";
  if (IsFor(jwk, "oct", "HS256")) {
    if (jwk.k.size() < kMinSecretBytes) {
      return KeyFileError(name,
                          which + " is shorter than " + std::to_string(kMinSecretBytes) + " bytes");
    }
    return JwtKey::OfSecret(jwk.k, jwk.kid);
  }
  const bool rsa = IsFor(jwk, "RSA", "RS256");
  if (!rsa && !(IsFor(jwk, "EC", "ES256") && jwk.crv == "P-256")) return std::nullopt;
  EVP_PKEY* const made = rsa ? MakeRsa(jwk) : MakeP256(jwk);
  if (made == nullptr) return KeyFileError(name, which + " is no key");
  auto key = JwtKey::OfPublicKey(made, jwk.kid);
  if (!key) return KeyFileError(name, which + ": " + key.error().message);
  return key;
}

}  // namespace

Error KeyFileError(const std::string& name, const std::string& problem) {
  return {ErrorCode::kInvalidOptions, name + ": " + problem};
}

Result<std::vector<JwtKey>> ReadJwks(std::string_view json, const std::string& name) {
  JsonDocument document;
  const auto value = document.Parse(json);
  if (!value || !value->is_object()) return KeyFileError(name, "is no JSON");
  std::vector<JsonValue> objects;
  const auto list = value->Find("keys");
  if (!list || !list->is_array()) {
    objects.push_back(*value);
  } else {
    for (const JsonValue each : *list) {
      if (each.is_object()) objects.push_back(each);
    }
  }
  std::vector<JwtKey> keys;
  for (const JsonValue& object : objects) {
    Jwk jwk;
    if (!ReadMembers(object, jwk)) return KeyFileError(name, "has a number that is not base64url");
    auto key = KeyOf(jwk, name);
    if (!key) continue;
    if (!*key) return key->error();
    keys.push_back(**std::move(key));
  }
  return keys;
}

}  // namespace sluice::identity

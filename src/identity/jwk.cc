#include "identity/jwk.h"

#include <memory>
#include <optional>
#include <utility>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "identity/base64url.h"
#include "identity/json_items.h"

namespace sluice::identity {
namespace {

using Kind = JsonValue::Kind;

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

Error Wrong(const std::string& name, const std::string& what) {
  return {ErrorCode::kInvalidOptions, name + ": " + what};
}

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

bool ReadMembers(std::string_view object, Jwk& jwk) {
  const std::pair<std::string_view, std::string*> kTexts[] = {{"kty", &jwk.kty},
                                                              {"use", &jwk.use},
                                                              {"alg", &jwk.alg},
                                                              {"kid", &jwk.kid},
                                                              {"crv", &jwk.crv}};
  const std::pair<std::string_view, std::string*> kNumbers[] = {
      {"n", &jwk.n}, {"e", &jwk.e}, {"x", &jwk.x}, {"y", &jwk.y}, {"k", &jwk.k}};
  JsonItems items(object, JsonItems::Of::kObject);
  while (items.Next()) {
    if (items.value().kind != Kind::kString) continue;
    std::string text = UnescapeJson(items.value().text).value_or("");
    for (const auto& [name, place] : kNumbers) {
      if (items.name() == name && !AppendBase64Url(text, *place)) return false;
    }
    for (const auto& [name, place] : kTexts) {
      if (items.name() == name) *place = text;
    }
  }
  return !items.failed();
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
      return Wrong(name, which + " is shorter than " + std::to_string(kMinSecretBytes) + " bytes");
    }
    return JwtKey::OfSecret(jwk.k, jwk.kid);
  }
  const bool rsa = IsFor(jwk, "RSA", "RS256");
  if (!rsa && !(IsFor(jwk, "EC", "ES256") && jwk.crv == "P-256")) return std::nullopt;
  EVP_PKEY* const made = rsa ? MakeRsa(jwk) : MakeP256(jwk);
  if (made == nullptr) return Wrong(name, which + " is no key");
  auto key = JwtKey::OfPublicKey(made, jwk.kid);
  if (!key) return Wrong(name, which + ": " + key.error().message);
  return key;
}

}  // namespace

Result<std::vector<JwtKey>> ReadJwks(std::string_view json, const std::string& name) {
  std::string_view list;
  JsonItems members(json, JsonItems::Of::kObject);
  while (members.Next()) {
    if (members.name() == "keys" && members.value().kind == Kind::kArray) {
      list = members.value().text;
    }
  }
  if (members.failed()) return Wrong(name, "is no JSON");
  std::vector<std::string_view> objects;
  if (list.empty()) objects.push_back(json);
  JsonItems elements(list.empty() ? "[]" : list, JsonItems::Of::kArray);
  while (elements.Next()) {
    if (elements.value().kind == Kind::kObject) objects.push_back(elements.value().text);
  }
  std::vector<JwtKey> keys;
  for (const std::string_view object : objects) {
    Jwk jwk;
    if (!ReadMembers(object, jwk)) return Wrong(name, "has a number that is not base64url");
    auto key = KeyOf(jwk, name);
    if (!key) continue;
    if (!*key) return key->error();
    keys.push_back(**std::move(key));
  }
  return keys;
}

}  // namespace sluice::identity

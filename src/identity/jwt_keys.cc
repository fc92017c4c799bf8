#include "identity/jwt_keys.h"

#include <array>
#include <iterator>
#include <utility>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/read_file.h"
#include "identity/jwk.h"

namespace sluice::identity {
namespace {

constexpr std::size_t kHashBytes = 32;
constexpr int kMinRsaBits = 2048;

template <auto kFree>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
template <typename T, auto kFree>
using OpenSslPtr = std::unique_ptr<T, Freer<kFree>>;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

bool IsP256(const EVP_PKEY* key) {
  std::array<char, 64> name;
  std::size_t size = 0;
  return EVP_PKEY_get_group_name(key, name.data(), name.size(), &size) == 1 &&
         std::string_view(name.data(), size) == "prime256v1";
}

// A token has the two numbers of the signature side by side, OpenSSL wants them as ASN.1.
std::string AsAsn1(std::string_view signature) {
  if (signature.size() != 2 * kHashBytes) return {};
  const OpenSslPtr<ECDSA_SIG, ECDSA_SIG_free> pair(ECDSA_SIG_new());
  BIGNUM* const r = BN_bin2bn(Bytes(signature), kHashBytes, nullptr);
  BIGNUM* const s = BN_bin2bn(Bytes(signature) + kHashBytes, kHashBytes, nullptr);
  if (pair == nullptr || ECDSA_SIG_set0(pair.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return {};
  }
  unsigned char* encoded = nullptr;
  const int size = i2d_ECDSA_SIG(pair.get(), &encoded);
  if (size <= 0) return {};
  std::string text(reinterpret_cast<const char*>(encoded), static_cast<std::size_t>(size));
  CRYPTO_free(encoded, "", 0);  // OPENSSL_free puts this file's path into the binary.
  return text;
}

bool VerifiesPublic(EVP_PKEY* key, std::string_view signature, std::string_view text) {
  const OpenSslPtr<EVP_MD_CTX, EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  return context != nullptr && !signature.empty() &&
         EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(text),
                          text.size()) == 1;
}

bool VerifiesSecret(std::string_view secret, std::string_view signature, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> expected;
  unsigned size = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), Bytes(text), text.size(),
           expected.data(), &size) == nullptr) {
    return false;
  }
  return signature.size() == size && CRYPTO_memcmp(signature.data(), expected.data(), size) == 0;
}

EVP_PKEY* KeyOfPem(std::string_view block, bool certificate) {
  const OpenSslPtr<BIO, BIO_free_all> bio(
      BIO_new_mem_buf(block.data(), static_cast<int>(block.size())));
  if (!certificate) return PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr);
  const OpenSslPtr<X509, X509_free> parsed(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  return parsed == nullptr ? nullptr : X509_get_pubkey(parsed.get());
}

Result<std::vector<JwtKey>> ReadPem(std::string_view content, const std::string& name) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  std::vector<JwtKey> keys;
  for (std::size_t at = content.find(kBegin); at != std::string_view::npos;) {
    const std::size_t next = content.find(kBegin, at + 1);
    const std::string_view block = content.substr(at, next - at);
    at = next;
    const std::string_view kind = block.substr(kBegin.size());
    const bool certificate = kind.starts_with("CERTIFICATE-");
    if (!certificate && !kind.starts_with("PUBLIC KEY-")) {
      return KeyFileError(name,
                          "holds something other than public keys and certificates; tokens are "
                          "checked with the public key");
    }
    EVP_PKEY* const parsed = KeyOfPem(block, certificate);
    if (parsed == nullptr) return KeyFileError(name, "holds a PEM block that can't be read");
    auto key = JwtKey::OfPublicKey(parsed);
    if (!key) return KeyFileError(name, key.error().message);
    keys.push_back(*std::move(key));
  }
  return keys;
}

}  // namespace

std::optional<JwtAlgorithm> ParseJwtAlgorithm(std::string_view name) {
  if (name == "HS256") return JwtAlgorithm::kHs256;
  if (name == "RS256") return JwtAlgorithm::kRs256;
  if (name == "ES256") return JwtAlgorithm::kEs256;
  return std::nullopt;
}

JwtKey JwtKey::OfSecret(std::string secret, std::string id) {
  JwtKey key(JwtAlgorithm::kHs256, std::move(id));
  key.secret_ = std::move(secret);
  return key;
}

Result<JwtKey> JwtKey::OfPublicKey(EVP_PKEY* taken, std::string id) {
  std::shared_ptr<EVP_PKEY> owned(taken, EVP_PKEY_free);
  const int kind = EVP_PKEY_get_base_id(taken);
  if (kind == EVP_PKEY_RSA && EVP_PKEY_get_bits(taken) < kMinRsaBits) {
    return Error{ErrorCode::kInvalidOptions, "an RSA key must have 2048 bits at least"};
  }
  if (kind != EVP_PKEY_RSA && !(kind == EVP_PKEY_EC && IsP256(taken))) {
    return Error{ErrorCode::kInvalidOptions, "a key must be RSA, or an elliptic curve's P-256"};
  }
  JwtKey key(kind == EVP_PKEY_RSA ? JwtAlgorithm::kRs256 : JwtAlgorithm::kEs256, std::move(id));
  key.key_ = std::move(owned);
  return key;
}

bool JwtKey::IsSameKey(const JwtKey& other) const {
  if (algorithm_ != other.algorithm_) return false;
  return key_ ? EVP_PKEY_eq(key_.get(), other.key_.get()) == 1 : secret_ == other.secret_;
}

bool JwtKey::Verifies(std::string_view signature, std::string_view signed_text) const {
  switch (algorithm_) {
    case JwtAlgorithm::kHs256:
      return VerifiesSecret(secret_, signature, signed_text);
    case JwtAlgorithm::kRs256:
      return VerifiesPublic(key_.get(), signature, signed_text);
    case JwtAlgorithm::kEs256:
      return VerifiesPublic(key_.get(), AsAsn1(signature), signed_text);
  }
  return false;
}

Result<std::vector<JwtKey>> ReadJwtKeyFiles(const std::vector<std::string>& paths) {
  std::vector<JwtKey> keys;
  for (const std::string& path : paths) {
    const auto content = ReadFile(path);
    if (!content) return Error{ErrorCode::kInvalidOptions, path + ": " + content.error().message};
    auto found = ReadJwtKeys(*content, path);
    if (!found) return found.error();
    std::move(found->begin(), found->end(), std::back_inserter(keys));
  }
  return keys;
}

Result<JwtKey> ReadJwtSecret(std::string_view content, const std::string& name) {
  while (content.ends_with('\n') || content.ends_with('\r')) content.remove_suffix(1);
  if (content.starts_with("-----BEGIN ")) {
    return KeyFileError(name, "holds a PEM block, which is no shared secret");
  }
  if (content.size() < kMinSecretBytes) {
    return KeyFileError(name, "a secret must have " + std::to_string(kMinSecretBytes) +
                                  " bytes at least, as from: openssl rand -base64 32");
  }
  return JwtKey::OfSecret(std::string(content));
}

Result<std::vector<JwtKey>> ReadJwtKeys(std::string_view content, const std::string& name) {
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  auto keys = first != std::string_view::npos && content[first] == '{' ? ReadJwks(content, name)
                                                                       : ReadPem(content, name);
  if (!keys) return keys;
  std::size_t without_id = 0;
  for (const JwtKey& key : *keys) without_id += key.id().empty() ? 1 : 0;
  if (keys->empty()) return KeyFileError(name, "holds no key for HS256, RS256 or ES256");
  if (keys->size() > kMaxKeys || without_id > kMaxKeysWithoutId) {
    return KeyFileError(name, "holds more than " + std::to_string(kMaxKeys) +
                                  " keys, or more than " + std::to_string(kMaxKeysWithoutId) +
                                  " without an id");
  }
  return keys;
}

}  // namespace sluice::identity

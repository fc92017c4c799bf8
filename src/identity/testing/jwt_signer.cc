#include "identity/testing/jwt_signer.h"

#include <array>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include "base/base64url.h"

namespace sluice::identity::testing {
namespace {

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

std::string NumberOf(EVP_PKEY* key, const char* name, int size = 0) {
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(key, name, &number);
  std::string bytes(static_cast<std::size_t>(size > 0 ? size : BN_num_bytes(number)), '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()),
               static_cast<int>(bytes.size()));
  BN_free(number);
  return Base64Url(bytes);
}

// The two numbers of an ASN.1 signature side by side.
std::string SideBySide(const std::string& asn1) {
  const unsigned char* at = Bytes(asn1);
  ECDSA_SIG* const pair = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(asn1.size()));
  std::string bytes(64, '\0');
  auto* to = reinterpret_cast<unsigned char*>(bytes.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(pair), to, 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(pair), to + 32, 32);
  ECDSA_SIG_free(pair);
  return bytes;
}

}  // namespace

std::string Base64Url(std::string_view bytes) {
  std::string text;
  AppendBase64Url(bytes, text);
  return text;
}

JwtSigner JwtSigner::Rsa(int bits) {
  JwtSigner signer;
  signer.algorithm_ = "RS256";
  signer.key_ = {EVP_RSA_gen(static_cast<unsigned>(bits)), EVP_PKEY_free};
  return signer;
}

JwtSigner JwtSigner::Curve(const char* name) {
  JwtSigner signer;
  signer.algorithm_ = "ES256";
  signer.key_ = {EVP_EC_gen(name), EVP_PKEY_free};
  return signer;
}

JwtSigner JwtSigner::Secret(std::string secret) {
  JwtSigner signer;
  signer.algorithm_ = "HS256";
  signer.secret_ = std::move(secret);
  return signer;
}

std::string JwtSigner::PublicPem() const {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(bio, key_.get());
  return TextOf(bio);
}

std::string JwtSigner::PrivatePem() const {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(bio);
}

std::string JwtSigner::Jwk(std::string_view id) const {
  const std::string begin = R"({"use":"sig","kid":")" + std::string(id) + R"(",)";
  if (key_ == nullptr) return begin + R"("kty":"oct","k":")" + Base64Url(secret_) + "\"}";
  if (algorithm_ == "RS256") {
    return begin + R"("kty":"RSA","n":")" + NumberOf(key_.get(), OSSL_PKEY_PARAM_RSA_N) +
           R"(","e":")" + NumberOf(key_.get(), OSSL_PKEY_PARAM_RSA_E) + "\"}";
  }
  return begin + R"("kty":"EC","crv":"P-256","x":")" +
         NumberOf(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X, 32) + R"(","y":")" +
         NumberOf(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, 32) + "\"}";
}

std::string JwtSigner::Sign(std::string_view text) const {
  if (key_ == nullptr) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()), Bytes(text), text.size(),
         digest.data(), &size);
    return {reinterpret_cast<const char*>(digest.data()), size};
  }
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key_.get());
  std::size_t size = 0;
  EVP_DigestSign(context, nullptr, &size, Bytes(text), text.size());
  std::string signature(size, '\0');
  EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &size, Bytes(text),
                 text.size());
  EVP_MD_CTX_free(context);
  signature.resize(size);
  return algorithm_ == "ES256" ? SideBySide(signature) : signature;
}

std::string JwtSigner::TokenWithHeader(std::string_view header, std::string_view payload) const {
  const std::string text = Base64Url(header) + "." + Base64Url(payload);
  return text + "." + Base64Url(Sign(text));
}

std::string JwtSigner::Token(std::string_view payload, std::string_view id) const {
  std::string header = R"({"typ":"JWT","alg":")" + std::string(algorithm_) + '"';
  if (!id.empty()) header += R"(,"kid":")" + std::string(id) + '"';
  return TokenWithHeader(header + '}', payload);
}

}  // namespace sluice::identity::testing

#include "identity/sealer.h"

#include <memory>
#include <span>

#include <openssl/evp.h>
#include <openssl/kdf.h>

#include "base/base64url.h"
#include "base/random.h"

namespace sluice::identity {
namespace {

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kSealTagBytes = 16;

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

struct FreeDerivation {
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};
using Derivation = std::unique_ptr<EVP_PKEY_CTX, FreeDerivation>;

unsigned char* WritableAt(std::string& text, std::size_t at) {
  return reinterpret_cast<unsigned char*>(text.data()) + at;
}
const unsigned char* SealBytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Sealer::Sealer(std::string_view secret, std::string_view purpose) {
  const Derivation derivation(EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr));
  std::size_t size = key_.size();
  const bool derived = !secret.empty() && derivation &&
                       EVP_PKEY_derive_init(derivation.get()) > 0 &&
                       EVP_PKEY_CTX_set_hkdf_md(derivation.get(), EVP_sha256()) > 0 &&
                       EVP_PKEY_CTX_set1_hkdf_key(derivation.get(), SealBytes(secret),
                                                  static_cast<int>(secret.size())) > 0 &&
                       EVP_PKEY_CTX_add1_hkdf_info(derivation.get(), SealBytes(purpose),
                                                   static_cast<int>(purpose.size())) > 0 &&
                       EVP_PKEY_derive(derivation.get(), key_.data(), &size) > 0;
  // A random key opens nothing that others sealed, which is safe.
  if (!derived) FillRandom(std::as_writable_bytes(std::span(key_)));
}

std::string Sealer::Seal(std::string_view text) const {
  std::string bytes(kNonceBytes + text.size() + kSealTagBytes, '\0');
  FillRandom(std::as_writable_bytes(std::span(bytes)).first(kNonceBytes));
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int count = 0;
  const bool sealed =
      cipher &&
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key_.data(),
                         WritableAt(bytes, 0)) > 0 &&
      EVP_EncryptUpdate(cipher.get(), WritableAt(bytes, kNonceBytes), &count, SealBytes(text),
                        static_cast<int>(text.size())) > 0 &&
      EVP_EncryptFinal_ex(cipher.get(), WritableAt(bytes, kNonceBytes + text.size()), &count) > 0 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kSealTagBytes,
                          WritableAt(bytes, kNonceBytes + text.size())) > 0;
  std::string out;
  if (sealed) AppendBase64Url(bytes, out);
  return out;
}

std::optional<std::string> Sealer::Open(std::string_view sealed) const {
  std::string bytes;
  if (!DecodeBase64Url(sealed, bytes) || bytes.size() < kNonceBytes + kSealTagBytes) {
    return std::nullopt;
  }
  const std::size_t size = bytes.size() - kNonceBytes - kSealTagBytes;
  std::string text(size + 1, '\0');  // At least one byte, so that there is an address.
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int count = 0;
  const bool opened =
      cipher &&
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key_.data(),
                         WritableAt(bytes, 0)) > 0 &&
      EVP_DecryptUpdate(cipher.get(), WritableAt(text, 0), &count, WritableAt(bytes, kNonceBytes),
                        static_cast<int>(size)) > 0 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kSealTagBytes,
                          WritableAt(bytes, kNonceBytes + size)) > 0 &&
      EVP_DecryptFinal_ex(cipher.get(), WritableAt(text, size), &count) > 0;
  if (!opened) return std::nullopt;
  text.resize(size);
  return text;
}

}  // namespace sluice::identity

#include "api/denial_id.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/base64url.h"
#include "base/stable_hash.h"

namespace sluice::api {
namespace {

using Millis = std::chrono::milliseconds;

constexpr std::uint64_t kIdFormat = 1;
constexpr std::uint64_t kDegradedFlag = 1;
constexpr std::uint64_t kHashMask = (std::uint64_t{1} << 40) - 1;
constexpr std::uint64_t kNeverPasses = 0xFFFFFFFF;

using CipherKey = std::array<unsigned char, 32>;

CipherKey DeriveKey(std::string_view secret, std::string_view purpose) {
  CipherKey key{};
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(purpose.data()), purpose.size(), key.data(), &size);
  return key;
}

// A number in three bytes: 19 bits, shifted by up to 31.
constexpr int kMantissaBits = 19;
std::uint64_t Shorten(std::int64_t number) {
  auto rest = static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0));
  const int shift = std::max(0, static_cast<int>(std::bit_width(rest)) - kMantissaBits);
  return static_cast<std::uint64_t>(std::min(shift, 31)) << kMantissaBits |
         (shift > 31 ? (1U << kMantissaBits) - 1 : rest >> shift);
}
std::int64_t Lengthen(std::uint64_t three) {
  const std::uint64_t mantissa = three & ((1U << kMantissaBits) - 1);
  return static_cast<std::int64_t>(mantissa << (three >> kMantissaBits & 31));
}

std::uint64_t WaitMillis(Micros wait) {
  if (wait < Micros{0}) return kNeverPasses;
  const auto millis = static_cast<std::uint64_t>(std::chrono::ceil<Millis>(wait).count());
  return std::min(millis, kNeverPasses - 1);
}

}  // namespace

std::uint64_t HashOfLimit(std::string_view rule, std::string_view limit) {
  return StableHash(rule, limit) & kHashMask;
}

std::uint32_t ShortFingerprint(std::string_view fingerprint) {
  std::uint32_t number = 0;
  for (const char c : fingerprint.substr(0, 8)) {
    const auto digit = static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    number = number << 4 | (digit & 15);
  }
  return number;
}

void DenialIds::Free::operator()(evp_cipher_ctx_st* context) const { EVP_CIPHER_CTX_free(context); }

DenialIds::DenialIds(std::string_view secret)
    : mac_(EVP_CIPHER_CTX_new()), cipher_(EVP_CIPHER_CTX_new()) {
  const CipherKey mac_key = DeriveKey(secret, "sluice denial id: authentication");
  const CipherKey cipher_key = DeriveKey(secret, "sluice denial id: encryption");
  EVP_EncryptInit_ex(mac_.get(), EVP_aes_256_ecb(), nullptr, mac_key.data(), nullptr);
  EVP_EncryptInit_ex(cipher_.get(), EVP_aes_256_ecb(), nullptr, cipher_key.data(), nullptr);
  EVP_CIPHER_CTX_set_padding(mac_.get(), 0);
  EVP_CIPHER_CTX_set_padding(cipher_.get(), 0);
}

DenialIds::~DenialIds() = default;

// Whole blocks need none of the buffering of EVP_EncryptUpdate, which takes longer than they do.
DenialIds::Tag DenialIds::TagOf(const Facts& facts) const {
  Tag tag;
  EVP_Cipher(mac_.get(), tag.data(), facts.data(), kTagBytes);
  Tag chained;
  for (std::size_t i = 0; i < kTagBytes; ++i) {
    chained[i] = static_cast<unsigned char>(tag[i] ^ facts[kTagBytes + i]);
  }
  EVP_Cipher(mac_.get(), tag.data(), chained.data(), kTagBytes);
  return tag;
}

DenialIds::Facts DenialIds::Mask(const Tag& tag, const Facts& facts) const {
  Facts counters;  // The tag, and the tag plus one.
  std::copy(tag.begin(), tag.end(), std::copy(tag.begin(), tag.end(), counters.begin()));
  for (std::size_t i = kFactBytes; i > kTagBytes; --i) {
    if (++counters[i - 1] != 0) break;
  }
  Facts masked;
  EVP_Cipher(cipher_.get(), masked.data(), counters.data(), kFactBytes);
  for (std::size_t i = 0; i < kFactBytes; ++i) masked[i] ^= facts[i];
  return masked;
}

void DenialIds::Append(const DenialFacts& facts, std::string& out) const {
  Facts bytes{};
  auto* at = bytes.begin();
  const auto put = [&at](std::uint64_t number, int size) {
    for (; size > 0; --size, number >>= 8) *at++ = static_cast<unsigned char>(number);
  };
  put(kIdFormat, 1);
  put(facts.degraded ? kDegradedFlag : 0, 1);
  put(static_cast<std::uint64_t>(std::chrono::floor<Millis>(facts.time.time_since_epoch()).count()),
      6);
  put(facts.limit_hash, 5);
  put(facts.rules_fingerprint, 4);
  put(WaitMillis(facts.wait), 4);
  put(Shorten(facts.cap), 3);
  put(Shorten(facts.remaining), 3);
  put(Shorten(facts.cost), 3);
  const Tag tag = TagOf(bytes);
  const Facts masked = Mask(tag, bytes);
  std::array<char, kTagBytes + kFactBytes> all;
  std::copy(masked.begin(), masked.end(), std::copy(tag.begin(), tag.end(), all.begin()));
  AppendBase64Url({all.data(), all.size()}, out);
}

std::optional<DenialFacts> DenialIds::Read(std::string_view text) const {
  std::string decoded;
  if (text.size() != kTextBytes || !DecodeBase64Url(text, decoded) ||
      decoded.size() != kTagBytes + kFactBytes) {
    return std::nullopt;
  }
  Tag tag;
  Facts masked;
  std::copy_n(decoded.begin(), kTagBytes, tag.begin());
  std::copy_n(decoded.begin() + kTagBytes, kFactBytes, masked.begin());
  const Facts bytes = Mask(tag, masked);
  const Tag expected = TagOf(bytes);
  if (CRYPTO_memcmp(expected.data(), tag.data(), kTagBytes) != 0) return std::nullopt;
  const auto* at = bytes.begin();
  const auto take = [&at](int size) {
    std::uint64_t number = 0;
    for (int i = 0; i < size; ++i) number |= std::uint64_t{*at++} << (8 * i);
    return number;
  };
  if (take(1) != kIdFormat) return std::nullopt;
  DenialFacts facts;
  facts.degraded = (take(1) & kDegradedFlag) != 0;
  facts.time = WallTime{Millis(static_cast<std::int64_t>(take(6)))};
  facts.limit_hash = take(5);
  facts.rules_fingerprint = static_cast<std::uint32_t>(take(4));
  const std::uint64_t wait = take(4);
  facts.wait = wait == kNeverPasses ? Micros{-1} : Millis(static_cast<std::int64_t>(wait));
  facts.cap = Lengthen(take(3));
  facts.remaining = Lengthen(take(3));
  facts.cost = Lengthen(take(3));
  return facts;
}

}  // namespace sluice::api

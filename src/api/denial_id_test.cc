#include "api/denial_id.h"

#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/base64url.h"

namespace sluice::api {
namespace {

DenialFacts ExampleFacts() {
  return {.time = WallTime{std::chrono::milliseconds(1'763'000'000'123)},
          .limit_hash = HashOfLimit("search", "per minute"),
          .rules_fingerprint = ShortFingerprint("0123abcdef"),
          .degraded = false,
          .cap = 100,
          .remaining = 3,
          .cost = 5,
          .wait = std::chrono::milliseconds(2'400)};
}

std::string IdTextOf(const DenialIds& ids, const DenialFacts& facts) {
  std::string id;
  ids.Append(facts, id);
  return id;
}

TEST(DenialIds, AnyServerWithTheSameSecretReadsAnId) {
  const DenialIds ids("secret");
  const std::string id = IdTextOf(ids, ExampleFacts());
  EXPECT_EQ(id.size(), DenialIds::kTextBytes);
  EXPECT_EQ(DenialIds("secret").Read(id), ExampleFacts());
  EXPECT_EQ(IdTextOf(ids, ExampleFacts()), id);  // No state is kept in between.
  DenialFacts never = ExampleFacts();
  never.wait = Micros{-1};
  never.degraded = true;
  EXPECT_EQ(ids.Read(IdTextOf(ids, never)), never);
  EXPECT_NE(IdTextOf(ids, never).substr(0, 16), id.substr(0, 16));
}

std::array<unsigned char, 32> DerivedKey(std::string_view secret, std::string_view purpose) {
  std::array<unsigned char, 32> key{};
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(purpose.data()), purpose.size(), key.data(), &size);
  return key;
}

// Encrypts with one of OpenSSL's modes.
std::string Encrypt(const EVP_CIPHER* mode, const std::array<unsigned char, 32>& key,
                    const std::string& initial, const std::string& text) {
  const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(),
                                                                           &EVP_CIPHER_CTX_free);
  std::string out(text.size() + 16, '\0');
  int size = 0;
  EVP_EncryptInit_ex(context.get(), mode, nullptr, key.data(),
                     reinterpret_cast<const unsigned char*>(initial.data()));
  EVP_CIPHER_CTX_set_padding(context.get(), 0);
  EVP_EncryptUpdate(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                    reinterpret_cast<const unsigned char*>(text.data()),
                    static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

// Servers of other versions read the ids.
TEST(DenialIds, AreACbcMacAndTheFactsInCounterMode) {
  const DenialIds ids("secret");
  const auto mac_key = DerivedKey("secret", "sluice denial id: authentication");
  const auto cipher_key = DerivedKey("secret", "sluice denial id: encryption");
  DenialFacts facts = ExampleFacts();
  for (int i = 0; i < 2000; ++i) {  // So that the counter carries over some bytes.
    facts.cost = i;
    std::string decoded;
    ASSERT_TRUE(DecodeBase64Url(IdTextOf(ids, facts), decoded));
    ASSERT_EQ(decoded.size(), 48U);
    const std::string tag = decoded.substr(0, 16);
    const std::string plain = Encrypt(EVP_aes_256_ctr(), cipher_key, tag, decoded.substr(16));
    EXPECT_EQ(Encrypt(EVP_aes_256_cbc(), mac_key, std::string(16, '\0'), plain).substr(16), tag);
  }
}

TEST(DenialIds, ForgedDamagedAndForeignIdsAreNotRead) {
  const DenialIds ids("secret");
  const std::string id = IdTextOf(ids, ExampleFacts());
  EXPECT_FALSE(DenialIds("another secret").Read(id));
  for (std::size_t i = 0; i < id.size(); ++i) {
    std::string changed = id;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(ids.Read(changed)) << i;
    EXPECT_FALSE(ids.Read(id.substr(0, i))) << i;
  }
  EXPECT_FALSE(ids.Read(id + "A"));
  EXPECT_FALSE(ids.Read(std::string(DenialIds::kTextBytes, '!')));
  EXPECT_FALSE(ids.Read(""));
}

TEST(DenialIds, LargeNumbersAreRoundedAndSmallOnesAreExact) {
  const DenialIds ids("secret");
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000; ++i) {
    DenialFacts facts = ExampleFacts();
    const int bits = static_cast<int>(random() % 50);
    facts.cap = static_cast<std::int64_t>(random() >> (63 - bits));
    facts.remaining = static_cast<std::int64_t>(random() % (1U << 19));
    const auto read = ids.Read(IdTextOf(ids, facts));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->remaining, facts.remaining);
    EXPECT_LE(read->cap, facts.cap);
    EXPECT_LE(facts.cap - read->cap, facts.cap >> 18);
  }
}

}  // namespace
}  // namespace sluice::api

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/time.h>

struct evp_cipher_ctx_st;

namespace sluice::api {

/// The content of the id of a denial.
struct DenialFacts {
  WallTime time{};                      ///< To a millisecond.
  std::uint64_t limit_hash = 0;         ///< Of rule and limit: see HashOfLimit. 40 bits.
  std::uint32_t rules_fingerprint = 0;  ///< See ShortFingerprint.
  bool degraded = false;                ///< Decided without the store.
  std::int64_t cap = 0;                 ///< Numbers above 2^19 are rounded, by 2^-19 at most.
  std::int64_t remaining = 0;
  std::int64_t cost = 0;
  Micros wait{0};  ///< Until the call would have passed, to a millisecond; negative: never.

  friend bool operator==(const DenialFacts&, const DenialFacts&) = default;
};

/// The same on every node.
[[nodiscard]] std::uint64_t HashOfLimit(std::string_view rule, std::string_view limit);
/// The first eight hexadecimal digits of a fingerprint as a number.
[[nodiscard]] std::uint32_t ShortFingerprint(std::string_view fingerprint);

/// Writes facts about a denial as a text that is given to the client, and reads it again on any
/// server with the same secret. It shows the client nothing, and can be neither made nor changed
/// without the secret. No state is kept: equal facts have equal ids.
///
/// The facts have a fixed length. Their CBC-MAC under one key is the tag, and the initial value of
/// AES-256 in counter mode under another key, which encrypts them: the construction of SIV
/// (RFC 5297), which needs no nonce. Both keys are derived from the secret. Both modes are made of
/// single blocks here, because setting OpenSSL's ciphers to another initial value takes longer than
/// the encryption. For one thread.
class DenialIds {
 public:
  static constexpr std::size_t kTextBytes = 64;

  explicit DenialIds(std::string_view secret);
  ~DenialIds();
  DenialIds(const DenialIds&) = delete;
  DenialIds& operator=(const DenialIds&) = delete;

  /// Appends kTextBytes of base64url. Allocates nothing but what `out` needs.
  void Append(const DenialFacts& facts, std::string& out) const;
  /// Nothing: it is damaged, forged, or was made with another secret.
  [[nodiscard]] std::optional<DenialFacts> Read(std::string_view text) const;

 private:
  static constexpr std::size_t kFactBytes = 32;
  static constexpr std::size_t kTagBytes = 16;
  using Facts = std::array<unsigned char, kFactBytes>;
  using Tag = std::array<unsigned char, kTagBytes>;

  struct Free {
    void operator()(evp_cipher_ctx_st* context) const;
  };
  using Cipher = std::unique_ptr<evp_cipher_ctx_st, Free>;

  [[nodiscard]] Tag TagOf(const Facts& facts) const;
  /// Encrypts, or decrypts.
  [[nodiscard]] Facts Mask(const Tag& tag, const Facts& facts) const;

  Cipher mac_;     ///< AES-256, block by block.
  Cipher cipher_;  ///< The same with the other key.
};

}  // namespace sluice::api

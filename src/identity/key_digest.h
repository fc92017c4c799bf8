#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <openssl/sha.h>

namespace sluice::identity {

/// The digest that replaces an API key wherever the key must not be visible: its HMAC-SHA256 with a
/// secret. Operators can compute it:
///
///     printf %s "$key" | openssl dgst -sha256 -hmac "$secret"
///
/// Without a secret it is the SHA-256, which protects only long credentials: short ones can be
/// guessed. Immutable and thread-safe; does not allocate.
class KeyDigest {
 public:
  KeyDigest() = default;
  explicit KeyDigest(std::string_view secret);

  /// "hmac:" or "sha256:" and 64 digits: longer than any key that is not hashed, so that no client
  /// can send the digest of another key.
  static constexpr std::size_t kMaxText = 7 + 2 * SHA256_DIGEST_LENGTH;
  using Buffer = std::array<char, kMaxText>;

  /// Returns whether a text has the form of a digest: no plain key is as long.
  [[nodiscard]] static bool IsDigest(std::string_view text);

  /// Returns the digest in `buffer`.
  std::string_view operator()(std::string_view key, Buffer& buffer) const;

 private:
  bool has_secret_ = false;
  SHA256_CTX inner_{};  ///< After the secret's first block.
  SHA256_CTX outer_{};
};

}  // namespace sluice::identity

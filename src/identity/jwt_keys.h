#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/types.h>

#include <sluice/result.h>

namespace sluice::identity {

/// Signature algorithms. Each belongs to one kind of key, so that a public key can't be used as a
/// shared secret, whatever a token says.
enum class JwtAlgorithm : std::uint8_t {
  kHs256,  ///< A shared secret.
  kRs256,  ///< RSA, at least 2048 bits.
  kEs256,  ///< An elliptic curve, P-256.
};

/// Parses "HS256", "RS256" or "ES256"; nothing for others, including "none".
[[nodiscard]] std::optional<JwtAlgorithm> ParseJwtAlgorithm(std::string_view name);

/// A key that verifies signatures. Immutable and thread-safe.
class JwtKey {
 public:
  static JwtKey OfSecret(std::string secret, std::string id = {});
  /// Takes ownership of the key. Fails for unsupported kinds.
  static Result<JwtKey> OfPublicKey(EVP_PKEY* key, std::string id = {});

  [[nodiscard]] JwtAlgorithm algorithm() const { return algorithm_; }
  /// The `kid` of its tokens; may be empty.
  [[nodiscard]] const std::string& id() const { return id_; }

  /// Returns whether both verify the same signatures; ignores their ids.
  [[nodiscard]] bool IsSameKey(const JwtKey& other) const;
  [[nodiscard]] bool Verifies(std::string_view signature, std::string_view signed_text) const;

 private:
  JwtKey(JwtAlgorithm algorithm, std::string id) : algorithm_(algorithm), id_(std::move(id)) {}

  JwtAlgorithm algorithm_;
  std::string id_;
  std::string secret_;
  std::shared_ptr<EVP_PKEY> key_;
};

/// Minimum size of a shared secret: that of the hash (RFC 7518).
inline constexpr std::size_t kMinSecretBytes = 32;
/// Maximum number of keys without an id, which are tried one after the other.
inline constexpr std::size_t kMaxKeysWithoutId = 8;
inline constexpr std::size_t kMaxKeys = 256;

/// Parses the content of a file: public keys or certificates as PEM, a JSON Web Key or a set of
/// them. Skips keys of a set for other uses or algorithms. `name` is for messages.
[[nodiscard]] Result<std::vector<JwtKey>> ReadJwtKeys(std::string_view content,
                                                      const std::string& name);
/// Reads the keys of all these files.
[[nodiscard]] Result<std::vector<JwtKey>> ReadJwtKeyFiles(const std::vector<std::string>& paths);
/// Parses a file with a secret; ignores a trailing line break.
[[nodiscard]] Result<JwtKey> ReadJwtSecret(std::string_view content, const std::string& name);

}  // namespace sluice::identity

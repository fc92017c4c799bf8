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

/// How a token is signed. Each is for keys of one kind, so that a public key can never be taken for
/// a shared secret, whatever a token says.
enum class JwtAlgorithm : std::uint8_t {
  kHs256,  ///< A shared secret.
  kRs256,  ///< RSA, of 2048 bits at least.
  kEs256,  ///< An elliptic curve, P-256.
};

/// "HS256", "RS256" or "ES256"; nothing of all others, "none" included.
[[nodiscard]] std::optional<JwtAlgorithm> ParseJwtAlgorithm(std::string_view name);

/// The keys for signatures. Immutable: any thread may use it.
class JwtKey {
 public:
  static JwtKey OfSecret(std::string secret, std::string id = {});
  /// Takes the key. Fails if it is of no kind that we know.
  static Result<JwtKey> OfPublicKey(EVP_PKEY* key, std::string id = {});

  [[nodiscard]] JwtAlgorithm algorithm() const { return algorithm_; }
  /// The `kid` of tokens that are signed with it; may be empty.
  [[nodiscard]] const std::string& id() const { return id_; }

  /// Whether both verify the same signatures, whatever their ids are.
  [[nodiscard]] bool IsSameKey(const JwtKey& other) const;
  [[nodiscard]] bool Verifies(std::string_view signature, std::string_view signed_text) const;

 private:
  JwtKey(JwtAlgorithm algorithm, std::string id) : algorithm_(algorithm), id_(std::move(id)) {}

  JwtAlgorithm algorithm_;
  std::string id_;
  std::string secret_;
  std::shared_ptr<EVP_PKEY> key_;
};

/// A shared secret has at least as many bits as its hash (RFC 7518).
inline constexpr std::size_t kMinSecretBytes = 32;
/// Keys without an id are tried one after the other.
inline constexpr std::size_t kMaxKeysWithoutId = 8;
inline constexpr std::size_t kMaxKeys = 256;

/// Of a file's content: public keys or certificates as PEM, a JSON Web Key or a set of them. Keys
/// of a set that are for other uses or algorithms are passed over. `name` is for messages.
[[nodiscard]] Result<std::vector<JwtKey>> ReadJwtKeys(std::string_view content,
                                                      const std::string& name);
/// The keys of all of these files.
[[nodiscard]] Result<std::vector<JwtKey>> ReadJwtKeyFiles(const std::vector<std::string>& paths);
/// Of a file that holds nothing but a secret; a line break at its end does not count.
[[nodiscard]] Result<JwtKey> ReadJwtSecret(std::string_view content, const std::string& name);

}  // namespace sluice::identity

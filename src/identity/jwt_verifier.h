#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/time.h>

#include "identity/jwt_keys.h"

namespace sluice::identity {

/// A claim of a token and the attribute that it becomes.
struct ClaimUse {
  std::string claim;
  std::string attribute;
};

struct JwtRules {
  std::vector<ClaimUse> claims = {{"sub", "api_key"}};
  /// Only the form is checked: a proxy in front has verified the token.
  bool unverified = false;
  std::string issuer{};    ///< Required `iss`; empty: any.
  std::string audience{};  ///< Required element of `aud`; empty: any.
  bool require_expiry = false;
  Micros leeway = std::chrono::seconds(60);  ///< Tolerance for clock differences.
};

enum class JwtStatus : std::uint8_t {
  kValid,
  kNotAToken,  ///< Not of the form a.b.c: another kind of credential.
  kMalformed,
  kAlgorithm,  ///< Unsupported algorithm, or none.
  kNoKey,      ///< No key with this id and algorithm.
  kSignature,
  kExpired,
  kNotYetValid,
  kIssuer,
  kAudience,
  kUnusableClaim,  ///< A used claim is not a text or number, too long, or duplicate.
};

/// Returns the reason why a token is rejected, for messages; never includes parts of the token.
[[nodiscard]] std::string_view Describe(JwtStatus status);

/// The claims of a verified token.
struct JwtContent {
  WallTime not_before{};        ///< Both times include the leeway.
  WallTime expires = kMaxTime;  ///< The token is valid before this time.
  /// The values of `JwtRules::claims`, in their order; see ForEachValue.
  std::string packed{};

  [[nodiscard]] JwtStatus StatusAt(WallTime now) const {
    if (now >= expires) return JwtStatus::kExpired;
    return now < not_before ? JwtStatus::kNotYetValid : JwtStatus::kValid;
  }
};

/// Packed values: one string, each value with a two-byte length prefix, so that a copy is cheap.
void AppendValue(std::string_view value, std::string& packed);
/// Removes and returns the next value; an absent one is empty.
[[nodiscard]] std::string_view TakeValue(std::string_view& packed);

inline constexpr std::size_t kMaxTokenBytes = 8192;
inline constexpr std::size_t kMaxClaimBytes = 256;

/// Verifies JSON Web Tokens (RFC 7519). Immutable and thread-safe.
class JwtVerifier {
 public:
  JwtVerifier(JwtRules rules, std::vector<JwtKey> keys)
      : rules_(std::move(rules)), keys_(std::move(keys)) {}

  [[nodiscard]] const JwtRules& rules() const { return rules_; }

  /// Verifies everything but the time (see JwtContent::StatusAt). Allocates, and a signature takes
  /// tens of microseconds: cache the result.
  [[nodiscard]] JwtStatus Read(std::string_view token, JwtContent& content) const;

 private:
  [[nodiscard]] JwtStatus CheckSignature(std::string_view header, std::string_view signed_text,
                                         std::string_view signature) const;
  [[nodiscard]] JwtStatus ReadClaims(std::string_view payload, JwtContent& content) const;

  JwtRules rules_;
  std::vector<JwtKey> keys_;
};

}  // namespace sluice::identity

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
  std::string issuer{};    ///< Not empty: what `iss` must be.
  std::string audience{};  ///< Not empty: what `aud` must be, or have among others.
  bool require_expiry = false;
  Micros leeway = std::chrono::seconds(60);  ///< For clocks that differ.
};

enum class JwtStatus : std::uint8_t {
  kValid,
  kNotAToken,  ///< Not of the form a.b.c: some other kind of credential.
  kMalformed,
  kAlgorithm,  ///< Another algorithm than ours, or none.
  kNoKey,      ///< No key of that id and algorithm.
  kSignature,
  kExpired,
  kNotYetValid,
  kIssuer,
  kAudience,
  kUnusableClaim,  ///< A claim that is used is no text or number, is too long, or is there twice.
};

/// Why a token is refused, for people; never with anything of the token in it.
[[nodiscard]] std::string_view Describe(JwtStatus status);

/// The claims of a verified token.
struct JwtContent {
  WallTime not_before{};        ///< Leeway included, in both.
  WallTime expires = kMaxTime;  ///< The token is good before this moment.
  /// The values of `JwtRules::claims`, in their order; see ForEachValue.
  std::string packed{};

  [[nodiscard]] JwtStatus StatusAt(WallTime now) const {
    if (now >= expires) return JwtStatus::kExpired;
    return now < not_before ? JwtStatus::kNotYetValid : JwtStatus::kValid;
  }
};

/// Values in one string, so that a copy of them is one: each with two bytes of length in front.
void AppendValue(std::string_view value, std::string& packed);
/// Takes the next value off; one that is absent is empty.
[[nodiscard]] std::string_view TakeValue(std::string_view& packed);

inline constexpr std::size_t kMaxTokenBytes = 8192;
inline constexpr std::size_t kMaxClaimBytes = 256;

/// Checks JSON Web Tokens (RFC 7519). Immutable: any thread may use it.
class JwtVerifier {
 public:
  JwtVerifier(JwtRules rules, std::vector<JwtKey> keys)
      : rules_(std::move(rules)), keys_(std::move(keys)) {}

  [[nodiscard]] const JwtRules& rules() const { return rules_; }

  /// Everything but the time, which is part of the content. Allocates, and checking a
  /// signature takes tens of microseconds: remember what is valid.
  [[nodiscard]] JwtStatus Read(std::string_view token, JwtContent& content) const;

 private:
  [[nodiscard]] JwtStatus CheckSignature(std::string_view header, std::string_view signed_text,
                                         std::string_view signature) const;
  [[nodiscard]] JwtStatus ReadClaims(std::string_view payload, JwtContent& content) const;

  JwtRules rules_;
  std::vector<JwtKey> keys_;
};

}  // namespace sluice::identity

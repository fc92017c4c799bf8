#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/types.h>

namespace sluice::identity::testing {

[[nodiscard]] std::string Base64Url(std::string_view bytes);

/// Somebody who hands out tokens.
class JwtSigner {
 public:
  static JwtSigner Rsa(int bits = 2048);
  /// A curve: "P-256", "P-384".
  static JwtSigner Curve(const char* name = "P-256");
  static JwtSigner Secret(std::string secret);

  /// "RS256", "ES256", "HS256".
  [[nodiscard]] std::string_view algorithm() const { return algorithm_; }
  [[nodiscard]] std::string PublicPem() const;
  [[nodiscard]] std::string PrivatePem() const;
  /// As a JSON Web Key.
  [[nodiscard]] std::string Jwk(std::string_view id) const;

  /// The bytes of a signature, as in a token.
  [[nodiscard]] std::string Sign(std::string_view text) const;
  /// A token with its usual header.
  [[nodiscard]] std::string Token(std::string_view payload, std::string_view id = {}) const;
  [[nodiscard]] std::string TokenWithHeader(std::string_view header,
                                            std::string_view payload) const;

 private:
  std::string_view algorithm_;
  std::string secret_;
  std::shared_ptr<EVP_PKEY> key_;
};

}  // namespace sluice::identity::testing

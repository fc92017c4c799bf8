#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::identity {

/// Encrypts and authenticates texts that clients keep and bring back (AES-256-GCM with a random
/// nonce). Without the secret a text can be neither read, made nor changed. Keys are derived from
/// the secret by purpose (HKDF), so that a text sealed for one purpose can't be opened for another.
/// Immutable: threads may share it.
class Sealer {
 public:
  /// An empty secret: a random key of this object alone.
  Sealer(std::string_view secret, std::string_view purpose);

  /// Returns the sealed text as base64url. Empty: the cipher failed.
  [[nodiscard]] std::string Seal(std::string_view text) const;
  /// Returns the text. Nothing if it is damaged, forged, or sealed under another key.
  [[nodiscard]] std::optional<std::string> Open(std::string_view sealed) const;

 private:
  std::array<unsigned char, 32> key_{};
};

}  // namespace sluice::identity

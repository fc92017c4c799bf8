#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <sluice/result.h>
#include <sluice/time.h>

#include "base/network.h"
#include "identity/caller.h"
#include "identity/client_address.h"
#include "identity/headers.h"
#include "identity/key_digest.h"
#include "identity/options.h"
#include "identity/token_cache.h"

namespace sluice::identity {

/// The parts of a request that identify its caller.
struct Request {
  /// The peer's address, from the socket or the PROXY protocol; not set: a Unix socket.
  std::optional<Address> peer;
  const Headers& headers;
  std::string_view query{};  ///< The part after '?', not decoded.
};

enum class Outcome : std::uint8_t {
  kKnown,          ///< Identified by a credential, or by the address alone.
  kBadCredential,  ///< Repeated, too long, or with control characters: a bad request.
  kBadToken,       ///< Invalid token: unauthorized.
};

/// Identifies callers without trusting data that the caller could forge. Thread-safe: immutable
/// except for a cache of tokens.
///
///     auto identifier = Identifier::Make(options).value();
///     Caller caller;
///     if (identifier.Identify({.peer = peer, .headers = headers}, now, caller) == Outcome::kKnown)
///       Use(caller.attributes());
class Identifier {
 public:
  /// Reads the files that the options name. Fails with kInvalidOptions.
  static Result<Identifier> Make(IdentityOptions options);

  /// Identifies the caller of a request. Does not allocate in the steady state.
  [[nodiscard]] Outcome Identify(const Request& request, WallTime now, Caller& caller) const;

  /// Returns the form of this key for budgets and for display: the key itself, or its digest in
  /// `buffer` if it is long or keys are hashed.
  [[nodiscard]] std::string_view ShownKey(std::string_view key, KeyDigest::Buffer& buffer) const;

  /// Returns the digest of a key, in `buffer`, for places where the key must not be visible.
  [[nodiscard]] std::string_view DigestOf(std::string_view key, KeyDigest::Buffer& buffer) const {
    return KeyDigest::IsDigest(key) ? key : digest_(key, buffer);
  }

  /// True if keys must never be stored or shown in clear.
  [[nodiscard]] bool hashes_keys() const { return options_.hash_keys; }
  /// Returns the network that an IPv6 address is counted by, in `buffer`; nothing for IPv4.
  [[nodiscard]] std::optional<std::string_view> CountedNetwork(const Address& address,
                                                               NetworkText& buffer) const;

  /// The peers that must begin with the PROXY protocol.
  [[nodiscard]] const TrustedProxies& proxies() const { return proxies_; }

 private:
  enum class SourceOutcome : std::uint8_t { kGoOn, kStop, kBadCredential, kBadToken };

  explicit Identifier(IdentityOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::optional<Error> Prepare();
  [[nodiscard]] std::optional<Error> PrepareTokens();

  void AddAddress(Caller& caller) const;
  [[nodiscard]] SourceOutcome TrySource(const Source& source, const Request& request, WallTime now,
                                        Caller& caller) const;
  [[nodiscard]] SourceOutcome UseToken(std::string_view token, WallTime now, Caller& caller) const;
  [[nodiscard]] JwtStatus CheckToken(std::string_view token, WallTime now,
                                     JwtContent& content) const;
  void AddKey(std::string_view key, Caller& caller) const;

  IdentityOptions options_;
  TrustedProxies proxies_;
  KeyDigest digest_;
  std::unique_ptr<const JwtVerifier> verifier_;
  std::unique_ptr<TokenCache> cache_;
};

/// Credentials longer than this are replaced by their digest.
inline constexpr std::size_t kMaxPlainKeyBytes = 64;
/// Maximum length of a credential.
inline constexpr std::size_t kMaxCredentialBytes = kMaxTokenBytes;

}  // namespace sluice::identity

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
  kKnown,          ///< By a credential, or by the address alone.
  kBadCredential,  ///< Repeated, too long, with control characters: a bad request.
  kBadToken,       ///< Not valid: not authorised.
};

/// Finds out who calls, believing nothing that the caller could have made up. Immutable but for the
/// tokens that it remembers; any number of threads may ask.
///
///     auto identifier = Identifier::Make(options).value();
///     Caller caller;
///     if (identifier.Identify({.peer = peer, .headers = headers}, now, caller) == Outcome::kKnown)
///       Use(caller.attributes());
class Identifier {
 public:
  /// Reads the files that the options name. Fails with kInvalidOptions.
  static Result<Identifier> Make(IdentityOptions options);

  /// In the steady state nothing is allocated.
  [[nodiscard]] Outcome Identify(const Request& request, WallTime now, Caller& caller) const;

  /// Returns the form of this key for budgets and for display: the key itself, or,
  /// if it is long or keys are hashed, what stands for it, in `room`.
  [[nodiscard]] std::string_view ShownKey(std::string_view key, KeyDigest::Room& room) const;

  /// Returns what stands for this key wherever it must not be visible, in `room`: its digest.
  [[nodiscard]] std::string_view DigestOf(std::string_view key, KeyDigest::Room& room) const {
    return KeyDigest::IsDigest(key) ? key : digest_(key, room);
  }

  /// Whether keys are never to be stored or shown as they are.
  [[nodiscard]] bool hashes_keys() const { return options_.hash_keys; }
  /// The network that budgets of an IPv6 address are counted by, in `room`; nothing for others.
  [[nodiscard]] std::optional<std::string_view> CountedNetwork(const Address& address,
                                                               NetworkText& room) const;

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

/// Credentials longer than this are known by their hash.
inline constexpr std::size_t kMaxPlainKeyBytes = 64;
/// Maximum length of a credential.
inline constexpr std::size_t kMaxCredentialBytes = kMaxTokenBytes;

}  // namespace sluice::identity

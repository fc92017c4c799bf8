#pragma once

#include <memory>
#include <string_view>

#include <sluice/time.h>

#include "api/call_counters.h"
#include "api/call_record.h"
#include "api/peer.h"
#include "identity/identifier.h"
#include "identity/token_guard.h"
#include "limiter/limiter.h"
#include "rules/model.h"
#include "store/store_queue.h"

namespace sluice::api {

class AdminServices;
class EnvoyState;

/// Interface of the server that sessions call for requests. One object for each event loop, used
/// on that loop's thread only. The server implements it (server/worker.h).
class ServerServices {
 public:
  virtual ~ServerServices() = default;

  [[nodiscard]] virtual limiter::Limiter& limiter() = 0;
  /// Returns the time at which this turn of the loop began.
  [[nodiscard]] virtual WallTime now() = 0;
  /// Returns `now()` as "Sun, 06 Nov 1994 08:49:37 GMT".
  [[nodiscard]] virtual std::string_view http_date() = 0;
  /// Valid until the next turn of the loop.
  [[nodiscard]] virtual const identity::Identifier& identifier() = 0;
  /// The same for other threads; null: keys are not hashed.
  [[nodiscard]] virtual std::shared_ptr<const identity::Identifier> shared_identifier() {
    return nullptr;
  }
  /// Whether calls may have spans: only then their place in a trace matters.
  [[nodiscard]] virtual bool records_traces() const { return false; }
  /// Whether checks without `ip` and `api_key` are refused.
  [[nodiscard]] virtual bool requires_identity() const { return false; }
  /// Queue of calls to this loop's store; null: the store completes calls immediately.
  [[nodiscard]] virtual store::StoreQueue* store_queue() { return nullptr; }
  /// State of Envoy's service on this loop; null: the service is off.
  [[nodiscard]] virtual EnvoyState* envoy() { return nullptr; }
  [[nodiscard]] virtual std::string_view version() const = 0;
  /// Returns the active rules, as ids of denials name them.
  [[nodiscard]] virtual RulesMark rules_mark() { return {}; }
  /// Time after which an idle connection is closed; 0: never.
  [[nodiscard]] virtual Micros idle_timeout() const = 0;

  /// Counts a decided check, its limits, and the rules whose attributes it lacks.
  virtual void CountAnswer(Protocol protocol, const limiter::CheckRequest& check) = 0;
  /// Returns the counters of this loop.
  [[nodiscard]] virtual CallCounters& counters() = 0;
  /// Counts a request of Envoy that lacks an attribute of the rule's `per`.
  virtual void CountMissing(const rules::Rule& /*rule*/) {}
  /// Logs, once, that a check without `ip` and `api_key` was counted by its peer's address.
  virtual void NotePeerAsIdentity() {}
  /// Counts and logs an admin token that was not accepted.
  virtual void CountTokenFailure(Protocol /*protocol*/, const Peer& /*peer*/,
                                 identity::TokenVerdict /*verdict*/) {}

  [[nodiscard]] virtual AdminServices& admin() = 0;
};

/// Adds the attributes of the client's certificate to a check. Must be called before the client's
/// own attributes are added: the first value of a name wins, so that a client can't claim another
/// certificate. Does nothing for administrators' operations.
inline void AddCertificate(const Peer& peer, limiter::CheckRequest& check) {
  using store::Operation;
  if (!peer.asked_for_certificate || check.operation == Operation::kReset ||
      check.operation == Operation::kGrant || check.operation == Operation::kInspect) {
    return;
  }
  check.Add("tls_subject", peer.tls_subject);
  check.Add("tls_cn", peer.tls_cn);
}

/// Adds the attributes that budgets are counted by where they differ from the call's own: a key's
/// hash, an IPv6 client's network. Every protocol counts the same caller in the same way.
void AddCounted(const identity::Identifier& identifier, limiter::CheckRequest& check);

/// Whether the call has an `ip` or an `api_key`.
[[nodiscard]] bool HasIdentity(const limiter::CheckRequest& check);

/// Adds the peer's address as `ip` to a check that has none. Returns false if the check must be
/// refused (kNoIdentity): it has no `api_key` either, and an identity is required.
[[nodiscard]] bool AddPeerAddress(ServerServices& services, const Peer& peer, bool has_key,
                                  limiter::CheckRequest& check);

}  // namespace sluice::api

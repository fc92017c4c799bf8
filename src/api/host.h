#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "base/network.h"
#include "identity/identifier.h"
#include "limiter/limiter.h"
#include "rules/live_rules.h"
#include "wire/http2_guard.h"

namespace sluice::api {

class EnvoyDesk;

enum class Protocol : std::uint8_t { kHttp, kResp, kGrpc };

/// Both are Prometheus'.
enum class MetricsFormat : std::uint8_t { kPlain, kOpenMetrics };

/// Who is at the other end of a connection.
struct Peer {
  std::string address;    ///< As text, without a port; empty for Unix sockets.
  bool is_local = false;  ///< Loopback or a Unix socket: may do what needs a token, if none is set.
  std::uint16_t port = 0;
  std::optional<Address> ip{};  ///< The same address; nothing for Unix sockets.
  /// Its listener asks clients for certificates: what these say is all that counts.
  bool asked_for_certificate = false;
  std::string tls_subject{};  ///< Of its certificate, as RFC 2253 writes it; empty: it has none.
  std::string tls_cn{};       ///< The common name in it.
};

/// Adds what a client's certificate says of a call. Before what the client says itself, so that it
/// can't claim to have another, nor one at all. Administrators speak of others: not here.
inline void AddCertificate(const Peer& peer, limiter::Question& question) {
  using store::Operation;
  if (!peer.asked_for_certificate || question.operation == Operation::kReset ||
      question.operation == Operation::kGrant || question.operation == Operation::kInspect) {
    return;
  }
  question.Add("tls_subject", peer.tls_subject);
  question.Add("tls_cn", peer.tls_cn);
}

/// Adds what budgets are counted by where that is not what was told of a call: a key's hash, an
/// IPv6 client's network. Whoever is asked about is counted the same, whoever asks.
void AddCounted(const identity::Identifier& identifier, limiter::Question& question);

/// One part of the server's health.
struct Condition {
  std::string name;
  bool ok = true;
  std::string detail;
};

struct Health {
  bool live = true;
  bool ready = true;  ///< False while the server drains, or has no rules to go by.
  std::vector<Condition> conditions;
};

/// What a session asks of the server it is part of. One for each loop; on that loop's thread only.
class Host {
 public:
  virtual ~Host() = default;

  // ---- On the way of every request.

  [[nodiscard]] virtual limiter::Limiter& limiter() = 0;
  /// When this turn of the loop began.
  [[nodiscard]] virtual WallTime now() = 0;
  /// "Sun, 06 Nov 1994 08:49:37 GMT", now.
  [[nodiscard]] virtual std::string_view http_date() = 0;
  /// A call was answered: to be counted.
  virtual void CountAnswer(Protocol protocol, const limiter::Question& question) = 0;
  virtual void CountProtocolError(Protocol protocol) = 0;
  /// A connection was ended for what its client did.
  virtual void CountAbuse(wire::Http2Abuse /*abuse*/) {}
  /// Good until the next turn of the loop.
  [[nodiscard]] virtual const identity::Identifier& identifier() = 0;

  /// What Envoy's service goes by; null: there is no such service.
  [[nodiscard]] virtual EnvoyDesk* envoy() { return nullptr; }

  // ---- What only some may do.

  /// Whether a token is set at all, and whether this is it (compared in constant time).
  [[nodiscard]] virtual bool has_admin_token() const = 0;
  [[nodiscard]] virtual bool IsAdminToken(std::string_view token) const = 0;

  // ---- The server about itself.

  [[nodiscard]] virtual std::string_view version() const = 0;
  /// How long a client may ask nothing; 0: for ever.
  [[nodiscard]] virtual Micros idle_timeout() const = 0;
  [[nodiscard]] virtual Health CheckHealth() = 0;
  /// Makes the page of metrics, in Prometheus' text format, where nobody waits for it, and runs
  /// `done` with it in a later turn of this loop; never, if the server ends before.
  virtual void MakeMetrics(MetricsFormat format, std::function<void(std::string page)> done) = 0;
  [[nodiscard]] virtual rules::LiveRules& rules() = 0;
  /// Reads the rule file again, at once.
  virtual rules::LoadReport ReloadRules() = 0;
  [[nodiscard]] virtual limiter::Enforcement enforcement() const = 0;
  virtual void SetEnforcement(limiter::Enforcement enforcement) = 0;
  /// "error", "warn", "info", "debug". False: no such level.
  virtual bool SetLogLevel(std::string_view level) = 0;
  [[nodiscard]] virtual std::string_view log_level() const = 0;
  /// Keys and counters of the store, as name and value: for INFO.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::uint64_t>> StoreNumbers() = 0;
};

/// Whether a peer may change or reveal state: with the token where one is set, else by being local.
[[nodiscard]] inline bool MayAdminister(const Host& host, const Peer& peer, bool showed_token) {
  return host.has_admin_token() ? showed_token : peer.is_local;
}

}  // namespace sluice::api

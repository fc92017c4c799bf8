#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "api/admin/access.h"
#include "api/server_services.h"
#include "identity/sealer.h"
#include "wire/http_request.h"

namespace sluice::api {

/// A login of the dashboard.
struct BrowserSession {
  std::string token{};
  std::string csrf{};  ///< Sent by the page with every change, in the header kCsrfHeader.
  WallTime expires{};
};

inline constexpr std::string_view kCsrfHeader = "X-CSRF-Token";

/// Logins of browsers: the token, sealed in a cookie. The server keeps no state. The token is
/// checked again with every request, so that a session ends with its token. Immutable: threads may
/// share it.
class BrowserSessions {
 public:
  static constexpr Micros kLifetime = std::chrono::hours(12);
  /// Longer tokens don't fit into a cookie.
  static constexpr std::size_t kMaxTokenBytes = 2048;

  /// `secret`: the same in all processes that share sessions.
  explicit BrowserSessions(std::string_view secret) : sealer_(secret, "dashboard session") {}

  [[nodiscard]] static BrowserSession Begin(std::string_view token, WallTime now);
  [[nodiscard]] std::string Seal(const BrowserSession& session) const;
  /// Returns the session in a cookie's value. Nothing if it has expired or is not one of ours.
  [[nodiscard]] std::optional<BrowserSession> Open(std::string_view sealed, WallTime now) const;

 private:
  identity::Sealer sealer_;
};

/// Whether the browser of a request uses HTTPS: on this connection, or up to a trusted proxy.
[[nodiscard]] bool UsesHttps(ServerServices& services, const Peer& peer,
                             const wire::HttpRequest& request);

/// Returns the name of the session's cookie. Cookies are shared by all ports of a host, and the
/// name keeps servers on one machine apart. With HTTPS no other host and no plaintext page can set
/// it (`__Host-`).
[[nodiscard]] std::string SessionCookieName(const wire::HttpRequest& request, bool uses_https);

/// Returns the session that a request carries, if it is valid.
[[nodiscard]] std::optional<BrowserSession> FindSession(ServerServices& services,
                                                        const BrowserSessions& sessions,
                                                        const Peer& peer,
                                                        const wire::HttpRequest& request);

/// CheckHttpAccess, or by the session of a request without Authorization. A change needs the
/// session's CSRF token, and no page of another origin may use the session.
[[nodiscard]] Access CheckBrowserAccess(ServerServices& services, const BrowserSessions& sessions,
                                        const Peer& peer, const std::vector<std::string>& hosts,
                                        const wire::HttpRequest& request,
                                        const Requirement& requirement);

}  // namespace sluice::api

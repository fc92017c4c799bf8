#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/decision.h>
#include <sluice/limiter.h>
#include <sluice/result.h>
#include <sluice/rules.h>
#include <sluice/time.h>

namespace sluice {

/// Identification of callers by JSON Web Tokens. docs/identity.md explains each field.
struct HttpTokenOptions {
  std::string from = "bearer";           ///< Or "header:<name>", "cookie:<name>", "query:<name>".
  std::vector<std::string> key_files{};  ///< Public keys as PEM, or JWKS.
  std::string secret_file{};             ///< For HS256.
  bool unverified = false;               ///< A proxy in front has verified them.
  /// Claims and the attributes that they become.
  std::vector<std::pair<std::string, std::string>> claims = {{"sub", "api_key"}};
  std::string issuer{};
  std::string audience{};
  bool require_expiry = false;
  Micros leeway = std::chrono::seconds(60);
  bool anonymous_if_invalid = false;  ///< False: calls with invalid tokens get 401.
};

/// How callers are identified and answered. docs/identity.md and docs/http.md explain the settings
/// of the same names.
struct HttpFilterOptions {
  /// The first credential that a call has identifies it; without any, its address does.
  std::vector<std::string> sources = {"header:X-API-Key"};
  /// Proxies whose statement about the client's address is accepted.
  std::vector<std::string> trusted_proxies{};
  std::string address_header = "x-forwarded-for";
  int ipv6_prefix = 64;
  bool hash_keys = false;
  std::string hash_secret{};
  HttpTokenOptions jwt{};
  /// Differences of paths that the program ignores: "case" ("/Login" is "/login"; rules must be in
  /// lower case), "parameters" ("/login;a=b" is "/login"), "trailing_dots" ("/login." is "/login").
  std::vector<std::string> fold_paths{};
  /// "x-ratelimit", "draft-6", "draft-7", "draft-10" or "none".
  std::string header_style = "x-ratelimit";
  /// Not owned; must outlive the filter. nullptr: the system's clock.
  const Clock* clock = nullptr;
};

struct HttpField {
  std::string_view name{};
  std::string_view value{};
};

/// A request of any framework. Its data need not outlive Check.
struct HttpCall {
  std::string_view method{};
  std::string_view target{};             ///< As received: the path, and the query if any.
  std::span<const HttpField> headers{};  ///< All headers, in order.
  /// The address of the connection's peer, with or without a port; empty: a Unix socket.
  std::string_view peer{};
  std::int64_t cost = 1;
  /// Attributes known to the program, such as the logged-in user. They take precedence.
  std::span<const Attribute> attributes{};
};

/// The result for one request.
struct HttpVerdict {
  bool passes = false;
  int status = 200;  ///< If it does not pass: 429, 403, 400, 401 or 503, or the status of its rule.
  /// For the response of the program or of the filter. No duplicate names.
  std::vector<std::pair<std::string, std::string>> headers{};
  /// Of the response if it does not pass; else empty.
  std::string content_type{};
  std::string body{};

  Ruling ruling = Ruling::kInvalid;
  bool degraded = false;            ///< The store failed.
  Micros delay{0};                  ///< Leaky bucket: how long to wait before handling the request.
  std::vector<RuleStatus> slots{};  ///< Of concurrency limits; see HttpFilter::Finish.
};

/// Enforces rules in a program that is its own HTTP server, with any framework: pass it each
/// request, and answer those that don't pass with its status, headers and body. Callers are
/// identified like in the server; headers that a client could forge are not trusted.
///
/// Thread-safe. A check costs a Limiter::Check plus the response headers.
///
///     auto filter = sluice::HttpFilter::Make(limiter, rules).value();
///     const sluice::HttpVerdict verdict = filter.Check(
///         {.method = "GET", .target = "/items?page=2", .headers = headers, .peer =
///         "203.0.113.9"});
///     for (const auto& [name, value] : verdict.headers) response.Set(name, value);
///     if (!verdict.passes) return response.Send(verdict.status, verdict.body);
class HttpFilter {
 public:
  /// The limiter and the rules must outlive the filter. Reads the files that the options name.
  /// Fails with kInvalidOptions.
  static Result<HttpFilter> Make(Limiter& limiter, const Rules& rules,
                                 const HttpFilterOptions& options = {});

  HttpFilter(HttpFilter&&) noexcept;
  HttpFilter& operator=(HttpFilter&&) noexcept;
  ~HttpFilter();

  [[nodiscard]] HttpVerdict Check(const HttpCall& call);

  /// Releases the slots of concurrency limits. Call it when a request that passed is answered; not
  /// needed without such limits.
  void Finish(const HttpVerdict& verdict);

 private:
  struct Impl;
  explicit HttpFilter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice

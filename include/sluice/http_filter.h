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

/// Tokens (JSON Web Tokens) that callers are known by. docs/identity.md explains each field.
struct HttpTokenOptions {
  std::string from = "bearer";           ///< Or "header:<name>", "cookie:<name>", "query:<name>".
  std::vector<std::string> key_files{};  ///< Public keys as PEM, or JWKS.
  std::string secret_file{};             ///< For HS256.
  bool unverified = false;               ///< Somebody in front has checked them.
  /// Which claim becomes which attribute.
  std::vector<std::pair<std::string, std::string>> claims = {{"sub", "api_key"}};
  std::string issuer{};
  std::string audience{};
  bool require_expiry = false;
  Micros leeway = std::chrono::seconds(60);
  bool anonymous_if_invalid = false;  ///< Else calls with invalid tokens get 401.
};

/// How callers are known and answered. Every value is the one of docs/identity.md and docs/http.md
/// of the same name.
struct HttpFilterOptions {
  /// The first that a call has is its own; without any, the caller is its address.
  std::vector<std::string> sources = {"header:X-API-Key"};
  /// Only these are believed when they say for whom they call.
  std::vector<std::string> trusted_proxies{};
  std::string address_header = "x-forwarded-for";
  int ipv6_prefix = 64;
  bool hash_keys = false;
  std::string hash_secret{};
  HttpTokenOptions jwt{};
  /// Differences of paths that the program ignores: "case" ("/Login" is "/login"; rules are then
  /// written in lower case), "parameters" ("/login;a=b" is "/login"), "trailing_dots" ("/login." is
  /// "/login").
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

/// A request as a framework knows it. Nothing of it is needed once Check has returned.
struct HttpCall {
  std::string_view method{};
  std::string_view target{};  ///< As it was sent: the path, and the query if there is one.
  std::span<const HttpField> headers{};  ///< All of them, in their order.
  /// The address of the connection's peer, with or without a port; empty: a Unix socket.
  std::string_view peer{};
  std::int64_t cost = 1;
  /// Attributes known to the program, such as the logged-in user. They take precedence.
  std::span<const Attribute> attributes{};
};

/// The result for one request.
struct HttpVerdict {
  bool passes = false;
  int status = 200;  ///< If it does not pass: 429, 403, 400, 401 or 503, or what its rule says.
  /// For the answer, whether the program gives it or the filter. No name is there twice.
  std::vector<std::pair<std::string, std::string>> headers{};
  /// The answer's, if it does not pass. Else empty.
  std::string content_type{};
  std::string body{};

  Ruling ruling = Ruling::kInvalid;
  bool degraded = false;  ///< The store failed.
  Micros delay{0};        ///< Leaky bucket: how long to wait before the request is gone on with.
  std::vector<RuleStatus> slots{};  ///< Of concurrency limits; see HttpFilter::Finish.
};

/// The limits of rules in front of a program that is its own HTTP server, whatever framework it
/// uses: give it each request, and answer those that don't pass with what it says. It finds out who
/// calls as the server does, believing no header that a client could have made up.
///
/// Thread-safe. A check costs what Limiter::Check costs, and the headers of the answer.
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

  /// To be called when a request that passed is answered: frees its slots of concurrency limits.
  /// Not needed without such limits.
  void Finish(const HttpVerdict& verdict);

 private:
  struct Impl;
  explicit HttpFilter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice

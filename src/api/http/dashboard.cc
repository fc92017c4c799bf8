#include "api/http/routes.h"
#include "base/ascii.h"
#include "ui/assets.h"
#include "wire/gzip.h"

/// The files of the dashboard: /dashboard/.
namespace sluice::api {
namespace {

constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'";

// Whether a client takes gzip: "gzip" or "*", and not with a quality of zero.
bool TakesGzip(std::string_view accepted) {
  while (!accepted.empty()) {
    const auto comma = accepted.find(',');
    const std::string_view item = accepted.substr(0, comma);
    accepted = comma == std::string_view::npos ? std::string_view() : accepted.substr(comma + 1);
    const auto semicolon = item.find(';');
    const std::string_view name = TrimBlanks(item.substr(0, semicolon));
    if (!EqualIgnoringCase(name, "gzip") && name != "*") continue;
    if (semicolon == std::string_view::npos) return true;
    const std::string_view quality = TrimBlanks(item.substr(semicolon + 1));
    return quality.find_first_not_of("q=0. ") != std::string_view::npos;
  }
  return false;
}

void Serve(const HttpExchange& exchange, const ui::Asset& asset, std::string_view caching) {
  const bool is_known =
      exchange.request.Get("if-none-match").find(asset.entity_tag) != std::string_view::npos;
  wire::HttpResponse response = exchange.Respond(is_known ? 304 : 200);
  response.Add("ETag", asset.entity_tag);
  response.Add("Cache-Control", caching);
  response.Add("Vary", "Accept-Encoding");
  response.Add("X-Content-Type-Options", "nosniff");
  if (is_known) return response.Finish();
  response.Add("Content-Security-Policy", kContentSecurityPolicy);
  response.Add("X-Frame-Options", "DENY");
  response.Add("Referrer-Policy", "no-referrer");
  response.Add("Cross-Origin-Opener-Policy", "same-origin");
  response.Add("Cross-Origin-Resource-Policy", "same-origin");
  if (TakesGzip(exchange.request.Get("accept-encoding"))) {
    response.Add("Content-Encoding", "gzip");
    return response.Finish(asset.content_type, asset.gzip);
  }
  std::string content;
  wire::Gzip gzip;
  static_cast<void>(gzip.Decompress(asset.gzip, asset.size, content));
  response.Finish(asset.content_type, content);
}

}  // namespace

void RunDashboardRedirect(HttpExchange& exchange) {
  if (!exchange.loop.options().dashboard) return exchange.Refuse({.code = ProblemCode::kNotFound});
  exchange.Respond(308).Add("Location", "/dashboard/").Finish();
}

void RunDashboard(HttpExchange& exchange) {
  const ui::Asset* const page = ui::FindAsset(ui::kIndexName);
  if (!exchange.loop.options().dashboard || page == nullptr) {
    return exchange.Refuse({.code = ProblemCode::kNotFound});
  }
  Serve(exchange, *page, "no-cache");
}

void RunDashboardAsset(HttpExchange& exchange) {
  const std::string_view path = exchange.request.path;
  const ui::Asset* const asset = ui::FindAsset(PathParameter(*exchange.route, path, "file"));
  const bool is_current = PathParameter(*exchange.route, path, "bundle") == ui::AssetBundle();
  if (!exchange.loop.options().dashboard || asset == nullptr || !is_current) {
    return exchange.Refuse({.code = ProblemCode::kNotFound});
  }
  Serve(exchange, *asset, "public, max-age=31536000, immutable");
}

}  // namespace sluice::api

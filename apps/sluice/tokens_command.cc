#include "tokens_command.h"

#include <cstdio>

#include "base/clock.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/key.h"
#include "base/timestamp.h"
#include "text_table.h"

namespace sluice::app {
namespace {

using http_client::Request;
using http_client::Response;

constexpr std::string_view kTokens = "/admin/v1/tokens";

void PrintJson(const Response& response) {
  std::fwrite(response.body.data(), 1, response.body.size(), stdout);
  std::fputc('\n', stdout);
}

// Sends a request; nothing, and errors on standard error: it failed.
std::optional<Response> Send(const TokensOptions& options, const Request& request) {
  auto remote = Remote::Create(options.remote);
  return remote ? remote->SendSuccessfully(request) : std::nullopt;
}

std::string OrNever(const std::string& text) { return text.empty() ? "never" : text; }

}  // namespace

int ListTokens(const TokensOptions& options) {
  const auto response = Send(options, {.target = std::string(kTokens)});
  if (!response) return 1;
  if (options.remote.json) return PrintJson(*response), 0;
  JsonDocument document;
  const auto body = document.Parse(response->body);
  const auto tokens = body ? body->Find("tokens") : std::nullopt;
  if (!tokens) {
    std::fprintf(stderr, "the server's answer is not a list of tokens\n");
    return 1;
  }
  TextTable table(std::vector<TextTable::Align>(7, TextTable::Align::kLeft));
  table.Add({"ID", "NAME", "ROLE", "SCOPE", "EXPIRES", "LAST USED", "AUTHOR"});
  for (const JsonValue token : *tokens) {
    const auto text = [&](std::string_view name) { return Shown(MemberText(token, name)); };
    table.Add({text("id"), text("name"), text("role"), text("scope").empty() ? "-" : text("scope"),
               OrNever(text("expires_at")), OrNever(text("last_used_at")), text("author")});
  }
  std::string out;
  table.Print(0, out);
  std::fputs(out.c_str(), stdout);
  return 0;
}

int CreateToken(const TokensOptions& options) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("name").String(options.name);
  json.Key("role").String(options.role);
  if (!options.scope.empty()) json.Key("scope").String(options.scope);
  if (options.never_expires) json.Key("expires_at").Null();
  if (options.lifetime) {
    const WallTime expiry = TheSystemClock().Now() + *options.lifetime;
    json.Key("expires_at").String(FormatTimestamp(expiry));
  }
  json.EndObject();
  const auto response = Send(options, {.method = "POST",
                                       .target = std::string(kTokens),
                                       .content_type = "application/json",
                                       .body = body});
  if (!response) return 1;
  if (options.remote.json) return PrintJson(*response), 0;
  JsonDocument document;
  const auto created = document.Parse(response->body);
  if (!created) {
    std::fprintf(stderr, "the server's answer is not JSON\n");
    return 1;
  }
  std::printf("%s\n", Shown(MemberText(*created, "token")).c_str());
  std::fprintf(stderr, "token %s, role %s, expires: %s. It is not shown again.\n",
               Shown(MemberText(*created, "id")).c_str(),
               Shown(MemberText(*created, "role")).c_str(),
               OrNever(Shown(MemberText(*created, "expires_at"))).c_str());
  return 0;
}

int RevokeToken(const TokensOptions& options) {
  std::string target(kTokens);
  target += '/';
  AppendPercentEncoded(options.id, target);
  const auto response = Send(options, {.method = "DELETE", .target = target});
  if (!response) return 1;
  if (options.remote.json) return PrintJson(*response), 0;
  std::printf("revoked %s\n", options.id.c_str());
  return 0;
}

}  // namespace sluice::app

#include "remote.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/key.h"
#include "base/read_file.h"
#include "change_text.h"
#include "text_table.h"

namespace sluice::app {
namespace {

std::optional<std::string> ReadToken(const RemoteOptions& options) {
  if (options.token_file.empty()) {
    const char* const token = std::getenv("SLUICE_ADMIN_TOKEN");
    return token == nullptr ? std::string() : std::string(token);
  }
  auto token = ReadSecretFile(options.token_file);
  if (token) return std::move(*token);
  std::fprintf(stderr, "%s: %s\n", options.token_file.c_str(), token.error().message.c_str());
  return std::nullopt;
}

void PrintErrors(const JsonValue& errors, std::string_view file) {
  for (const JsonValue error : errors) {
    std::string line(file.empty() ? "rules" : file);
    if (const std::string number = MemberText(error, "line"); number != "0" && !number.empty()) {
      line += ':' + number + ':' + MemberText(error, "column");
    }
    line += ": ";
    if (const std::string path = MemberText(error, "path"); !path.empty()) line += path + ": ";
    line += MemberText(error, "message");
    std::fprintf(stderr, "%s\n", Shown(line).c_str());
  }
}

}  // namespace

std::string PercentEncoded(std::string_view text) {
  std::string encoded;
  AppendPercentEncoded(text, encoded);
  return encoded;
}

std::optional<Remote> Remote::Create(const RemoteOptions& options) {
  auto token = ReadToken(options);
  if (!token) return std::nullopt;
  auto client = http_client::HttpClient::Create({.server = options.server,
                                                 .token = std::move(*token),
                                                 .plaintext_token = options.plaintext_token,
                                                 .ca_file = options.ca_file,
                                                 .certificate_file = options.certificate_file,
                                                 .key_file = options.key_file});
  if (client) return Remote(std::move(*client));
  std::fprintf(stderr, "%s\n", client.error().message.c_str());
  return std::nullopt;
}

std::optional<http_client::Response> Remote::PrintError(Result<http_client::Response> response) {
  if (response) return std::move(*response);
  std::fprintf(stderr, "%s\n", response.error().message.c_str());
  return std::nullopt;
}

std::optional<http_client::Response> Remote::Send(const http_client::Request& request) {
  return PrintError(client_.Send(request));
}

std::optional<http_client::Response> Remote::SendSuccessfully(const http_client::Request& request) {
  return PrintFailure(Send(request));
}

std::optional<http_client::Response> Remote::StreamSuccessfully(
    const http_client::Request& request, const http_client::HttpClient::ReceiveBody& receive) {
  return PrintFailure(PrintError(client_.Stream(request, receive)));
}

std::optional<http_client::Response> Remote::PrintFailure(
    std::optional<http_client::Response> response) {
  if (!response || response->status / 100 == 2) return response;
  PrintProblem(*response);
  return std::nullopt;
}

void PrintBody(const http_client::Response& response) {
  std::fwrite(response.body.data(), 1, response.body.size(), stdout);
  if (!response.body.ends_with('\n')) std::fputc('\n', stdout);
}

void PrintProblem(const http_client::Response& response, std::string_view file) {
  JsonDocument document;
  const auto body = document.Parse(response.body);
  if (!body || !body->is_object()) {
    std::fprintf(stderr, "the server answered with status %d\n", response.status);
    return;
  }
  const auto errors = body->Find("errors");
  if (errors) PrintErrors(*errors, file);
  const std::string code = MemberText(*body, "code");
  const std::string detail = MemberText(*body, "detail");
  std::fprintf(stderr, "%s\n",
               Shown(code + (code.empty() || detail.empty() ? "" : ": ") + detail).c_str());
  std::string more;
  AppendDifferenceText(*body, more);
  AppendImpactText(*body, more);
  std::fputs(more.c_str(), stderr);
}

std::string MemberText(const JsonValue& object, std::string_view name) {
  const auto value = object.Find(name);
  if (!value || value->is_null()) return {};
  if (const auto text = value->String()) return std::string(*text);
  return std::string(value->raw());
}

}  // namespace sluice::app

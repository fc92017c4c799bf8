#include "keys_command.h"

#include <cstdio>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/timestamp.h"
#include "text_table.h"

namespace sluice::app {
namespace {

using http_client::Response;

constexpr int kKeysFailed = 1;
constexpr std::string_view kResets = "/admin/v1/resets";
constexpr Micros kResetPoll = std::chrono::milliseconds(100);
using enum TextTable::Align;

std::optional<Response> PostJson(Remote& remote, std::string_view path, const std::string& body) {
  return remote.SendSuccessfully({.method = "POST",
                                  .target = std::string(path),
                                  .content_type = "application/json",
                                  .body = body});
}

// Parses a response; nothing: it is not JSON, which is printed.
std::optional<JsonValue> ParseResponse(JsonDocument& document, const Response& response) {
  std::optional<JsonValue> body = document.Parse(response.body);
  if (!body) std::fprintf(stderr, "the server's answer is not JSON\n");
  return body;
}

void AppendAttributes(const KeysOptions& options, JsonWriter& json) {
  json.Key("attributes").BeginObject();
  for (const auto& [name, value] : options.attributes) json.Key(name).String(value);
  json.EndObject();
}

std::string KeyOf(const JsonValue& limit) {
  std::string text = MemberText(limit, "key");
  if (const auto others = limit.Find("others")) {
    for (const JsonValue other : *others) text += " " + std::string(other.String().value_or(""));
  }
  return Shown(text);
}

std::string ShownOrDash(const std::string& text) { return text.empty() ? "-" : Shown(text); }

std::string SecondsText(const std::string& millis) {
  return millis.empty() ? "-" : std::to_string((std::stoll(millis) + 999) / 1000) + "s";
}

void PrintLimits(const JsonValue& body) {
  if (const std::string listed = MemberText(body, "listed"); !listed.empty()) {
    std::printf("on the %s list\n", listed.c_str());
  }
  TextTable table({kLeft, kLeft, kLeft, kRight, kRight, kRight, kRight, kRight, kRight, kLeft});
  table.Add({"rule", "limit", "key", "used", "remaining", "of", "grant", "leased", "resets in",
             "last seen"});
  const auto limits = body.Find("limits");
  if (!limits) return;
  std::size_t count = 0;
  for (const JsonValue limit : *limits) {
    ++count;
    table.Add({Shown(MemberText(limit, "rule")), Shown(MemberText(limit, "name")), KeyOf(limit),
               MemberText(limit, "used"), MemberText(limit, "remaining"),
               MemberText(limit, "limit"), MemberText(limit, "grant"), MemberText(limit, "leased"),
               SecondsText(MemberText(limit, "reset_after_ms")),
               ShownOrDash(MemberText(limit, "last_seen"))});
  }
  std::string text;
  if (count > 0) table.Print(0, text);
  if (count == 0) text = "no limit matches\n";
  const auto explanation = body.Find("explanation");
  if (explanation) {
    TextTable reasons({kLeft, kLeft, kLeft});
    for (const JsonValue reason : *explanation) {
      if (MemberText(reason, "outcome") == "matched") continue;
      reasons.Add({Shown(MemberText(reason, "rule")), MemberText(reason, "outcome"),
                   Shown(MemberText(reason, "why"))});
    }
    if (!reasons.empty()) {
      text += "\nrules that don't match\n";
      reasons.Print(2, text);
    }
  }
  std::fputs(text.c_str(), stdout);
}

void PrintGrants(const JsonValue& body) {
  const auto limits = body.Find("limits");
  if (!limits) return;
  for (const JsonValue limit : *limits) {
    const std::string until = MemberText(limit, "expires_at");
    std::printf("granted %s to %s %s%s\n", MemberText(body, "granted").c_str(),
                Shown(MemberText(limit, "rule")).c_str(), Shown(MemberText(limit, "name")).c_str(),
                until.empty() ? "" : (", until " + until).c_str());
  }
}

// Prints a response as text with `print`, or as JSON.
int PrintAnswer(const KeysOptions& options, const std::optional<Response>& response,
                void (*print)(const JsonValue& body)) {
  if (!response) return kKeysFailed;
  if (options.remote.json) {
    PrintBody(*response);
    return 0;
  }
  JsonDocument document;
  const auto body = ParseResponse(document, *response);
  if (!body) return kKeysFailed;
  print(*body);
  return 0;
}

int ListKeys(const KeysOptions& options, Remote& remote) {
  std::string cursor;
  TextTable table({kLeft, kLeft, kLeft, kLeft, kLeft});
  table.Add({"rule", "limit", "key", "first seen", "last seen"});
  bool complete = true;
  do {
    std::string target = "/admin/v1/keys?limit=1000";
    if (!options.rule.empty()) target += "&rule=" + PercentEncoded(options.rule);
    if (!options.prefix.empty()) target += "&prefix=" + PercentEncoded(options.prefix);
    if (!cursor.empty()) target += "&cursor=" + PercentEncoded(cursor);
    const auto response = remote.SendSuccessfully({.target = target});
    if (!response) return kKeysFailed;
    JsonDocument document;
    const auto body = ParseResponse(document, *response);
    if (!body) return kKeysFailed;
    cursor = MemberText(*body, "cursor");
    if (options.remote.json) {
      PrintBody(*response);
      continue;
    }
    complete = MemberText(*body, "complete") == "true";
    const auto keys = body->Find("keys");
    if (!keys) return kKeysFailed;
    for (const JsonValue key : *keys) {
      table.Add({ShownOrDash(MemberText(key, "rule")), ShownOrDash(MemberText(key, "name")),
                 KeyOf(key), ShownOrDash(MemberText(key, "first_seen")),
                 ShownOrDash(MemberText(key, "last_seen"))});
    }
  } while (!cursor.empty());
  if (options.remote.json) return 0;
  std::string text;
  table.Print(0, text);
  if (!complete) text += "not complete: the server does not know the names of all keys\n";
  std::fputs(text.c_str(), stdout);
  return 0;
}

std::string SelectorBody(const KeysOptions& options) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  if (!options.rule.empty()) json.Key("rule").String(options.rule);
  if (!options.prefix.empty()) json.Key("prefix").String(options.prefix);
  if (!options.pattern.empty()) json.Key("match").String(options.pattern);
  if (options.all) json.Key("all").Bool(true);
  if (options.dry_run) json.Key("dry_run").Bool(true);
  if (options.max_keys > 0) json.Key("max_keys").Uint(options.max_keys);
  json.EndObject();
  return body;
}

int PrintPreview(const JsonValue& body) {
  const bool complete = MemberText(body, "complete") == "true";
  std::printf("%s%s keys match\n", complete ? "" : "at least ", MemberText(body, "count").c_str());
  const auto sample = body.Find("sample");
  if (!sample) return kKeysFailed;
  for (const JsonValue key : *sample) {
    std::printf("  %s %s\n", ShownOrDash(MemberText(key, "rule")).c_str(), KeyOf(key).c_str());
  }
  return 0;
}

// Prints a job that has ended.
int PrintJob(const JsonValue& job) {
  const std::string state = MemberText(job, "state");
  std::printf("%s: %s of %s keys that match were reset\n", state.c_str(),
              MemberText(job, "reset").c_str(), MemberText(job, "matched").c_str());
  if (MemberText(job, "complete") != "true") {
    std::printf("not complete: the server does not know the names of all keys\n");
  }
  if (const std::string error = MemberText(job, "error"); !error.empty()) {
    std::fprintf(stderr, "%s\n", Shown(error).c_str());
  }
  return state == "done" ? 0 : kKeysFailed;
}

int AwaitJob(const KeysOptions& options, Remote& remote, const std::string& id) {
  while (true) {
    const auto response =
        remote.SendSuccessfully({.target = std::string(kResets) + "/" + PercentEncoded(id)});
    if (!response) return kKeysFailed;
    JsonDocument document;
    const auto job = ParseResponse(document, *response);
    if (!job) return kKeysFailed;
    if (const std::string state = MemberText(*job, "state"); state != "running") {
      if (!options.remote.json) return PrintJob(*job);
      PrintBody(*response);
      return state == "done" ? 0 : kKeysFailed;
    }
    std::this_thread::sleep_for(kResetPoll);
  }
}

}  // namespace

int ShowKey(const KeysOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kKeysFailed;
  if (options.list) return ListKeys(options, *remote);
  std::string request;
  JsonWriter json(request);
  json.BeginObject();
  AppendAttributes(options, json);
  json.EndObject();
  const auto response = PostJson(*remote, "/admin/v1/keys:lookup", request);
  return PrintAnswer(options, response, PrintLimits);
}

int GrantToKey(const KeysOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kKeysFailed;
  std::string request;
  JsonWriter json(request);
  json.BeginObject();
  AppendAttributes(options, json);
  if (!options.rule.empty()) json.Key("rule").String(options.rule);
  json.Key("amount").Int(options.amount);
  auto expires = options.expires_at;
  if (options.lifetime) expires = TheSystemClock().Now() + *options.lifetime;
  if (expires) json.Key("expires_at").String(FormatTimestamp(*expires));
  json.EndObject();
  const auto response = PostJson(*remote, "/admin/v1/grants", request);
  return PrintAnswer(options, response, PrintGrants);
}

int ResetKeys(const KeysOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kKeysFailed;
  const auto response = PostJson(*remote, kResets, SelectorBody(options));
  if (!response) return kKeysFailed;
  JsonDocument document;
  const auto body = ParseResponse(document, *response);
  if (!body) return kKeysFailed;
  if (!options.dry_run && !options.detach) {
    return AwaitJob(options, *remote, MemberText(*body, "id"));
  }
  if (options.remote.json) {
    PrintBody(*response);
    return 0;
  }
  if (options.dry_run) return PrintPreview(*body);
  std::printf("reset %s runs\n", MemberText(*body, "id").c_str());
  return 0;
}

}  // namespace sluice::app

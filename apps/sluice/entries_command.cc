#include "entries_command.h"

#include <cstdio>
#include <iostream>
#include <iterator>

#include "base/duration.h"
#include "base/json_writer.h"
#include "base/read_file.h"
#include "match/entry_text.h"
#include "text_table.h"

namespace sluice::app {
namespace {

using http_client::Request;
using http_client::Response;

constexpr int kEntryFailed = 1;
constexpr int kNoSuchEntry = 2;
constexpr std::string_view kEntries = "/admin/v1/entries";
constexpr std::size_t kMaxImportBytes = std::size_t{64} << 20;
constexpr std::size_t kShownReason = 60;

std::string PathOf(const std::string& id) {
  return std::string(kEntries) + "/" + PercentEncoded(id);
}

std::string ChangeQuery(const EntriesOptions& options) {
  if (options.dry_run) return "?dry_run=1";
  if (!options.wait) return {};
  return "?wait=" + PercentEncoded(FormatDuration(*options.wait));
}

std::optional<std::string> ReadInput(const std::string& file) {
  if (file == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  auto text = ReadFile(file, kMaxImportBytes);
  if (text) return std::move(*text);
  std::fprintf(stderr, "%s: %s\n", file.c_str(), text.error().message.c_str());
  return std::nullopt;
}

// "api_key=sk_1, ip=10.0.0.0/8"; a pattern is marked.
std::string MatchOf(const JsonValue& entry) {
  const auto match = entry.Find("match");
  if (!match || match->size() == 0) return "every call";
  std::string text;
  for (const JsonValue member : *match) {
    if (!text.empty()) text += ", ";
    text.append(member.name()).append("=");
    if (const auto value = member.String()) {
      text += *value;
    } else if (member.is_object() && member.size() == 1) {
      const JsonValue form = *member.begin();
      text.append(form.name()).append(":").append(form.String().value_or(""));
    }
  }
  return text;
}

std::string EffectOf(const JsonValue& entry) {
  const auto effect = entry.Find("effect");
  if (!effect) return {};
  if (const auto name = effect->String()) return std::string(*name);
  if (!effect->is_object() || effect->size() != 1) return {};
  const JsonValue value = *effect->begin();
  return std::string(value.name()) + " " +
         std::string(value.String().value_or(value.Number().value_or("")));
}

std::string ExpiryOf(const JsonValue& entry) {
  const std::string expiry = MemberText(entry, "expires_at");
  return expiry.empty() ? "never" : expiry;
}

TextTable TableOfEntries() {
  constexpr auto kLeft = TextTable::Align::kLeft;
  TextTable table({kLeft, kLeft, kLeft, kLeft, kLeft, kLeft, kLeft});
  table.Add({"id", "effect", "match", "rule", "expires", "last used", "reason"});
  return table;
}

void AddRow(const JsonValue& entry, TextTable& table) {
  std::string reason = MemberText(entry, "reason");
  if (reason.size() > kShownReason) reason = reason.substr(0, kShownReason) + "...";
  std::string rule = MemberText(entry, "rule");
  if (const std::string limit = MemberText(entry, "limit_name"); !limit.empty()) {
    rule += ":" + limit;
  }
  table.Add({Shown(MemberText(entry, "id")), Shown(EffectOf(entry)), Shown(MatchOf(entry)),
             Shown(rule), Shown(ExpiryOf(entry)), Shown(MemberText(entry, "last_used")),
             Shown(reason)});
}

std::optional<JsonValue> ParseAnswer(const Response& response, JsonDocument& document) {
  const auto body = document.Parse(response.body);
  if (body && body->is_object()) return body;
  std::fprintf(stderr, "the server's answer is not JSON\n");
  return std::nullopt;
}

// Whether the answer is that there is no such entry, which is no error of its own.
bool IsNotFound(const Response& response) {
  JsonDocument document;
  const auto body = response.status == 404 ? document.Parse(response.body) : std::nullopt;
  return body && MemberText(*body, "code") == "ENTRY_NOT_FOUND";
}

// Prints what a change did, and which nodes lack it. Returns the exit code.
int FinishEntryChange(const EntriesOptions& options, const Response& response,
                      const std::string& what) {
  JsonDocument document;
  const auto body = ParseAnswer(response, document);
  if (!body) return kEntryFailed;
  const bool lags = response.status == 202;
  if (options.remote.json) {
    PrintBody(response);
    return lags ? kEntryFailed : 0;
  }
  std::string text = what + ": " + MemberText(*body, "created") + " created, " +
                     MemberText(*body, "replaced") + " replaced, " + MemberText(*body, "removed") +
                     " removed";
  if (options.dry_run) {
    text += " (dry run: nothing was changed)\n";
    const auto impact = body->Find("impact");
    if (impact && impact->is_object()) {
      text += "impact on " + MemberText(*impact, "replayed_calls") +
              " sampled calls: " + MemberText(*impact, "newly_denied_calls") + " newly denied, " +
              MemberText(*impact, "newly_allowed_calls") + " newly allowed\n";
    } else {
      text += "impact: " + Shown(MemberText(*body, "impact_unavailable")) + "\n";
    }
  } else {
    text += "\n";
  }
  if (const auto entry = body->Find("entry")) {
    text += "expires " + Shown(ExpiryOf(*entry)) + "\n";
  }
  if (MemberText(*body, "replicated") == "false") {
    text += "no replica of Redis has confirmed it: a failover may lose it\n";
  }
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  if (!options.wait || options.dry_run) return 0;
  std::fprintf(stderr, "applied on %s of %s nodes\n", MemberText(*body, "applied").c_str(),
               MemberText(*body, "of").c_str());
  if (const auto lagging = body->Find("lagging")) {
    for (const JsonValue node : *lagging) {
      std::fprintf(stderr, "  %s\n",
                   Shown(MemberText(node, "node") + " (" + MemberText(node, "address") +
                         "): " + MemberText(node, "reason"))
                       .c_str());
    }
  }
  return lags ? kEntryFailed : 0;
}

int ChangeEntries(const EntriesOptions& options, Request request, const std::string& what) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kEntryFailed;
  request.target += ChangeQuery(options);
  const auto response = remote->Send(request);
  if (!response) return kEntryFailed;
  if (response->status / 100 == 2) return FinishEntryChange(options, *response, what);
  if (options.remote.json) {
    PrintBody(*response);
  } else {
    PrintProblem(*response);
  }
  return IsNotFound(*response) ? kNoSuchEntry : kEntryFailed;
}

std::string BlockText(const EntriesOptions& options) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject().Key("match").BeginObject();
  for (const auto& [name, value] : options.attributes) {
    // Exactly this value, whatever characters it has; of `ip` also a network.
    json.Key(name);
    if (name == "ip") {
      json.String(value);
    } else {
      json.BeginObject().Key("equals").String(value).EndObject();
    }
  }
  json.EndObject();
  json.Key("effect").String("block");
  if (!options.rule.empty()) json.Key("rule").String(options.rule);
  if (options.status != 0) json.Key("status").Int(options.status);
  json.Key("reason").String(options.reason);
  if (options.forever) json.Key("expires_at").Null();
  if (!options.lifetime.empty()) json.Key("expires_in").String(options.lifetime);
  json.EndObject();
  return text;
}

// Blocks of this caller that have another id: all pages.
std::vector<std::string> OtherBlocks(Remote& remote, const EntriesOptions& options) {
  std::vector<std::string> ids;
  const auto& [name, value] = options.attributes.front();
  const std::string target =
      std::string(kEntries) + "?effect=block&match=" + PercentEncoded(name + "=" + value);
  const auto response = remote.SendSuccessfully({.target = target});
  JsonDocument document;
  const auto body = response ? ParseAnswer(*response, document) : std::nullopt;
  const auto entries = body ? body->Find("entries") : std::nullopt;
  if (!entries) return ids;
  for (const JsonValue entry : *entries) ids.push_back(MemberText(entry, "id"));
  return ids;
}

}  // namespace

int ListEntries(const EntriesOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kEntryFailed;
  std::string filter = "?limit=1000";
  if (!options.match.empty()) filter += "&match=" + PercentEncoded(options.match);
  if (!options.effect.empty()) filter += "&effect=" + PercentEncoded(options.effect);
  TextTable table = TableOfEntries();
  std::string json = "{\"entries\":[";
  std::size_t count = 0;
  for (std::string cursor;;) {
    const auto response = remote->SendSuccessfully(
        {.target = std::string(kEntries) + filter +
                   (cursor.empty() ? "" : "&cursor=" + PercentEncoded(cursor))});
    if (!response) return kEntryFailed;
    JsonDocument document;
    const auto body = ParseAnswer(*response, document);
    const auto entries = body ? body->Find("entries") : std::nullopt;
    if (!entries) return kEntryFailed;
    for (const JsonValue entry : *entries) {
      json.append(count++ == 0 ? "\n  " : ",\n  ").append(entry.raw());
      AddRow(entry, table);
    }
    cursor = MemberText(*body, "cursor");
    if (cursor.empty()) break;
  }
  std::string text;
  if (options.remote.json) {
    text = json + "\n]}\n";
  } else if (count == 0) {
    text = "no entries\n";
  } else {
    table.Print(0, text);
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

int GetEntry(const EntriesOptions& options) {
  auto remote = Remote::Create(options.remote);
  if (!remote) return kEntryFailed;
  const auto response = remote->Send({.target = PathOf(options.id)});
  if (!response) return kEntryFailed;
  if (response->status != 200) {
    PrintProblem(*response);
    return IsNotFound(*response) ? kNoSuchEntry : kEntryFailed;
  }
  if (options.remote.json) {
    PrintBody(*response);
    return 0;
  }
  JsonDocument document;
  const auto entry = ParseAnswer(*response, document);
  if (!entry) return kEntryFailed;
  TextTable table({TextTable::Align::kLeft, TextTable::Align::kLeft});
  table.Add({"id", Shown(MemberText(*entry, "id"))});
  table.Add({"effect", Shown(EffectOf(*entry))});
  table.Add({"match", Shown(MatchOf(*entry))});
  for (const char* const name :
       {"rule", "limit_name", "status", "reason", "author", "created", "last_used"}) {
    const std::string value = MemberText(*entry, name);
    if (!value.empty()) table.Add({name, Shown(value)});
  }
  table.Add({"expires", Shown(ExpiryOf(*entry))});
  std::string text;
  table.Print(0, text);
  std::fputs(text.c_str(), stdout);
  return 0;
}

int PutEntry(const EntriesOptions& options) {
  std::optional<std::string> text = options.text;
  if (options.text == "-") text = ReadInput("-");
  if (options.text.starts_with('@')) text = ReadInput(options.text.substr(1));
  if (!text) return kEntryFailed;
  return ChangeEntries(options,
                       {.method = "PUT",
                        .target = PathOf(options.id),
                        .content_type = "application/json",
                        .body = *std::move(text)},
                       Shown(options.id));
}

int DeleteEntry(const EntriesOptions& options) {
  return ChangeEntries(options, {.method = "DELETE", .target = PathOf(options.id)},
                       Shown(options.id));
}

int ImportEntries(const EntriesOptions& options) {
  auto text = ReadInput(options.text);
  if (!text) return kEntryFailed;
  JsonDocument document;
  const auto json = document.Parse(*text);
  if (!json) {
    std::fprintf(stderr, "%s: %s at byte %zu\n", options.text.c_str(),
                 std::string(document.error()).c_str(), document.error_at());
    return kEntryFailed;
  }
  std::string body = json->is_array() ? "{\"entries\":" + *text + "}" : *text;
  return ChangeEntries(options,
                       {.method = "POST",
                        .target = std::string(kEntries) + ":batch",
                        .content_type = "application/json",
                        .body = std::move(body)},
                       Shown(options.text));
}

int BlockCaller(const EntriesOptions& options) {
  const std::string id = match::BlockIdOf(options.attributes);
  return ChangeEntries(options,
                       {.method = "PUT",
                        .target = PathOf(id),
                        .content_type = "application/json",
                        .body = BlockText(options)},
                       id);
}

int UnblockCaller(const EntriesOptions& options) {
  const std::string id = match::BlockIdOf(options.attributes);
  const int code = ChangeEntries(options, {.method = "DELETE", .target = PathOf(id)}, id);
  if (code == kEntryFailed || options.remote.json) return code;
  auto remote = Remote::Create(options.remote);
  if (!remote) return code;
  for (const std::string& other : OtherBlocks(*remote, options)) {
    std::fprintf(stderr, "still blocked by %s: sluice entries delete %s\n", Shown(other).c_str(),
                 Shown(other).c_str());
  }
  return code;
}

}  // namespace sluice::app

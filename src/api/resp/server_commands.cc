#include <array>
#include <chrono>
#include <utility>

#include "api/resp/commands.h"
#include "base/ascii.h"
#include "resp/encoder.h"
#include "rules/glob.h"

namespace sluice::api {
namespace {

using resp::AppendArrayHeader;
using resp::AppendBulk;
using resp::AppendError;
using resp::AppendInteger;
using resp::AppendNull;
using resp::AppendSimpleString;

// The version of Redis whose ways these are. Clients look at it before they use a command.
constexpr std::string_view kRedisVersion = "7.0.0";

// Configuration that clients and redis-benchmark request, as of a Redis without persistence.
std::array<std::pair<std::string_view, std::string>, 6> ServerParameters(
    const ServerServices& services) {
  const auto timeout = std::chrono::ceil<std::chrono::seconds>(services.idle_timeout());
  return {{{"appendonly", "no"},
           {"databases", "1"},
           {"maxmemory", "0"},
           {"maxmemory-policy", "noeviction"},
           {"save", ""},
           {"timeout", std::to_string(timeout.count())}}};
}

void AppendFlags(const RespCommand& command, std::string& out) {
  AppendArrayHeader(out, command.is_administrative() ? 2 : 1);
  AppendSimpleString(out, command.ask != nullptr ? "write" : "fast");
  if (command.is_administrative()) AppendSimpleString(out, "admin");
}

// As Redis 6: clients of later ones take it too.
void AppendCommandInfo(const RespCommand& command, std::string& out) {
  const bool all_are_keys = command.has_keys && command.most == 0;
  AppendArrayHeader(out, 7);
  AppendBulk(out, command.name);
  AppendInteger(out, command.arity);
  AppendFlags(command, out);
  AppendInteger(out, command.has_keys ? 1 : 0);
  AppendInteger(out, all_are_keys ? -1 : command.has_keys ? 1 : 0);
  AppendInteger(out, command.has_keys ? 1 : 0);
  AppendArrayHeader(out, 0);
}

void AppendCommandDocs(const RespCommand& command, resp::Protocol protocol, std::string& out) {
  AppendBulk(out, command.name);
  resp::AppendMapHeader(out, 2, protocol);
  AppendBulk(out, "summary");
  AppendBulk(out, command.summary);
  AppendBulk(out, "group");
  AppendBulk(out, command.ask != nullptr ? "sluice" : "connection");
}

void DescribeCommands(const RespClient& client, RespArguments names, std::string& out) {
  if (names.empty()) {
    resp::AppendMapHeader(out, AllRespCommands().size(), client.protocol);
    for (const RespCommand& command : AllRespCommands()) {
      AppendCommandDocs(command, client.protocol, out);
    }
    return;
  }
  std::size_t known = 0;
  for (const std::string_view name : names) known += FindRespCommand(name) != nullptr ? 1 : 0;
  resp::AppendMapHeader(out, known, client.protocol);
  for (const std::string_view name : names) {
    const RespCommand* const command = FindRespCommand(name);
    if (command != nullptr) AppendCommandDocs(*command, client.protocol, out);
  }
}

void ListCommandInfo(const RespClient& client, RespArguments names, std::string& out) {
  if (names.empty()) {
    AppendArrayHeader(out, AllRespCommands().size());
    for (const RespCommand& command : AllRespCommands()) AppendCommandInfo(command, out);
    return;
  }
  AppendArrayHeader(out, names.size());
  for (const std::string_view name : names) {
    const RespCommand* const command = FindRespCommand(name);
    if (command != nullptr) {
      AppendCommandInfo(*command, out);
    } else {
      AppendNull(out, client.protocol);
    }
  }
}

bool MatchesAny(std::string_view parameter, RespArguments patterns) {
  for (const std::string_view pattern : patterns) {
    const auto glob = rules::Glob::Compile(pattern);
    if (glob && glob->Matches(parameter)) return true;
  }
  return false;
}

bool Wants(RespArguments arguments, std::string_view section) {
  if (arguments.size() == 1) return true;
  for (const std::string_view wanted : arguments.subspan(1)) {
    if (EqualIgnoringCase(wanted, section) || EqualIgnoringCase(wanted, "all") ||
        EqualIgnoringCase(wanted, "default") || EqualIgnoringCase(wanted, "everything")) {
      return true;
    }
  }
  return false;
}

void AppendField(std::string_view field, std::string_view value, std::string& text) {
  text.append(field).append(":").append(value).append("\r\n");
}

}  // namespace

void CommandCommand(RespClient& client, RespArguments arguments, std::string& out) {
  if (arguments.size() == 1) return ListCommandInfo(client, {}, out);
  const std::string_view subcommand = arguments[1];
  if (EqualIgnoringCase(subcommand, "count")) {
    return AppendInteger(out, static_cast<std::int64_t>(AllRespCommands().size()));
  }
  if (EqualIgnoringCase(subcommand, "docs")) {
    return DescribeCommands(client, arguments.subspan(2), out);
  }
  if (EqualIgnoringCase(subcommand, "info")) {
    return ListCommandInfo(client, arguments.subspan(2), out);
  }
  if (EqualIgnoringCase(subcommand, "list")) {
    AppendArrayHeader(out, AllRespCommands().size());
    for (const RespCommand& command : AllRespCommands()) AppendBulk(out, command.name);
    return;
  }
  if (EqualIgnoringCase(subcommand, "help")) {
    return AppendHelp(
        {"COMMAND <subcommand> [<arg> ...]. Without one: all commands. Others:", "COUNT",
         "    How many commands there are.", "DOCS [<name> ...]", "    What they are for.",
         "INFO [<name> ...]", "    Their arity, flags and keys.", "LIST", "    Their names.",
         "HELP", "    This."},
        out);
  }
  AppendUnknownSubcommand("COMMAND", subcommand, out);
}

void Config(RespClient& client, RespArguments arguments, std::string& out) {
  if (EqualIgnoringCase(arguments[1], "help")) {
    return AppendHelp(
        {"CONFIG <subcommand> [<arg> ...]. Subcommands are:", "GET <pattern> [<pattern> ...]",
         "    Settings that Redis clients ask for.", "HELP", "    This."},
        out);
  }
  if (!EqualIgnoringCase(arguments[1], "get")) {
    return AppendUnknownSubcommand("CONFIG", arguments[1], out);
  }
  const RespArguments patterns = arguments.subspan(2);
  if (patterns.empty()) return AppendWrongArity("config|get", {}, out);
  std::string found;
  std::size_t count = 0;
  for (const auto& [name, value] : ServerParameters(client.services)) {
    if (!MatchesAny(name, patterns)) continue;
    ++count;
    AppendBulk(found, name);
    AppendBulk(found, value);
  }
  resp::AppendMapHeader(out, count, client.protocol);
  out += found;
}

void Info(RespClient& client, RespArguments arguments, std::string& out) {
  std::string text;
  if (Wants(arguments, "server")) {
    text += "# Server\r\n";
    AppendField("redis_version", kRedisVersion, text);
    AppendField("redis_mode", "standalone", text);
    AppendField("sluice_version", client.services.version(), text);
  }
  if (Wants(arguments, "persistence")) {
    text += "# Persistence\r\n";
    AppendField("loading", "0", text);
  }
  if (Wants(arguments, "replication")) {
    text += "# Replication\r\n";
    AppendField("role", "master", text);
    AppendField("connected_slaves", "0", text);
  }
  if (client.principal()->Has(identity::Role::kViewer) && Wants(arguments, "sluice")) {
    text += "# Sluice\r\n";
    AppendField("enforcement", LabelOf(client.services.admin().enforcement()), text);
    AppendField("rules_version", std::to_string(client.services.admin().rules().Status().version),
                text);
    for (const auto& [name, value] : client.services.admin().StoreNumbers()) {
      AppendField("store_" + name, std::to_string(value), text);
    }
  }
  AppendBulk(out, text);
}

void DbSize(RespClient& client, RespArguments /*arguments*/, std::string& out) {
  std::uint64_t keys = 0;
  for (const auto& [name, value] : client.services.admin().StoreNumbers()) {
    if (name == "keys") keys = value;
  }
  AppendInteger(out, static_cast<std::int64_t>(keys));
}

void Time(RespClient& client, RespArguments /*arguments*/, std::string& out) {
  const std::int64_t now = client.services.now().time_since_epoch().count();
  constexpr std::int64_t kMicrosPerSecond = 1'000'000;
  AppendArrayHeader(out, 2);
  resp::AppendBulkInteger(out, now / kMicrosPerSecond);
  resp::AppendBulkInteger(out, now % kMicrosPerSecond);
}

}  // namespace sluice::api

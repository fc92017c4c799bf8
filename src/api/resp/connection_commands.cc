#include <algorithm>
#include <utility>

#include "api/admin/access.h"
#include "api/resp/commands.h"
#include "base/ascii.h"
#include "base/parse_number.h"
#include "resp/encoder.h"

namespace sluice::api {
namespace {

using resp::AppendBulk;
using resp::AppendError;
using resp::AppendInteger;
using resp::AppendNull;
using resp::AppendSimpleString;

constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";

// Names that a client gives itself are kept while it is connected, so they are bounded.
constexpr std::size_t kLongestName = 256;

bool IsPrintable(std::string_view text) {
  return text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

bool TrustsLocal(const RespClient& client) {
  return client.services.admin().authenticator().trusts_local();
}

bool SetName(RespClient& client, std::string_view name, std::string& out) {
  if (!IsPrintable(name)) {
    AppendError(out, "ERR Client names cannot contain spaces, newlines or special characters.");
    return false;
  }
  client.name = name;
  return true;
}

// Where local clients are trusted and no created token is shown, any password is right for the one
// user there is, as with Redis.
bool Authenticate(RespClient& client, std::string_view user, std::string_view token,
                  std::string& out) {
  using identity::TokenVerdict;
  const bool is_known = user == "default" || user == "admin";
  if (!client.services.admin().authenticator().IsCredential(token) && TrustsLocal(client)) {
    if (!is_known) AppendError(out, kWrongPassword);
    return is_known;
  }
  // A user that is not known is a wrong guess like any other.
  identity::Login login =
      LogIn(client.services, Protocol::kResp, client.peer, is_known ? token : std::string_view());
  if (login.verdict == TokenVerdict::kLimited) {
    AppendError(out, "ERR too many wrong passwords from this address, try again in a few seconds");
    client.quits = true;
    return false;
  }
  if (login.verdict != TokenVerdict::kRight) {
    AppendError(out, kWrongPassword);
    return false;
  }
  client.login = std::move(login.principal);
  return true;
}

// Reads HELLO's options without doing anything, so that one that fails changes nothing.
struct HelloOptions {
  std::int64_t version = 0;
  bool logs_in = false;
  std::string_view user;
  std::string_view token;
  bool sets_name = false;
  std::string_view name;
};

bool ReadHello(RespArguments arguments, HelloOptions& options, std::string& out) {
  if (arguments.size() < 2) return true;
  const auto version = ParseNumber<std::int64_t>(arguments[1]);
  if (!version) {
    AppendError(out, "ERR Protocol version is not an integer or out of range");
    return false;
  }
  options.version = *version;
  if (options.version != 2 && options.version != 3) {
    AppendError(out, "NOPROTO unsupported protocol version");
    return false;
  }
  for (std::size_t i = 2; i < arguments.size();) {
    if (EqualIgnoringCase(arguments[i], "auth") && i + 2 < arguments.size()) {
      options.logs_in = true;
      options.user = arguments[i + 1];
      options.token = arguments[i + 2];
      i += 3;
    } else if (EqualIgnoringCase(arguments[i], "setname") && i + 1 < arguments.size()) {
      options.sets_name = true;
      options.name = arguments[i + 1];
      i += 2;
    } else {
      std::string message = "ERR Syntax error in HELLO option '";
      AppendError(out, message.append(Quotable(arguments[i])).append("'"));
      return false;
    }
  }
  return true;
}

std::string AddressOf(const Peer& peer) {
  if (peer.address.empty()) return "unix";
  const bool is_ipv6 = peer.address.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + peer.address + "]" : peer.address;
  return host + ":" + std::to_string(peer.port);
}

std::string DescribeClient(const RespClient& client) {
  std::string line = "id=" + std::to_string(client.id);
  line.append(" addr=").append(AddressOf(client.peer));
  line.append(" name=").append(client.name).append(" db=0");
  line.append(" user=").append(client.login ? std::string_view(client.login->name) : "default");
  line.append(" lib-name=").append(client.library);
  line.append(" lib-ver=").append(client.library_version);
  line.append(client.protocol == resp::Protocol::kResp3 ? " resp=3\n" : " resp=2\n");
  return line;
}

void SetInfo(RespClient& client, std::string_view field, std::string_view value, std::string& out) {
  const bool is_name = EqualIgnoringCase(field, "lib-name");
  if (!is_name && !EqualIgnoringCase(field, "lib-ver")) {
    std::string message = "ERR Unrecognized option '";
    return AppendError(out, message.append(Quotable(field)).append("'"));
  }
  if (!IsPrintable(value)) {
    std::string message = "ERR ";
    message.append(is_name ? "lib-name" : "lib-ver");
    return AppendError(out,
                       message.append(" cannot contain spaces, newlines or special characters."));
  }
  (is_name ? client.library : client.library_version) = value;
  AppendSimpleString(out, "OK");
}

void SwitchThatMeansNothing(std::string_view value, std::string& out) {
  if (EqualIgnoringCase(value, "on") || EqualIgnoringCase(value, "off")) {
    return AppendSimpleString(out, "OK");
  }
  AppendError(out, "ERR syntax error");
}

}  // namespace

void Ping(RespClient& /*client*/, RespArguments arguments, std::string& out) {
  if (arguments.size() > 1) return AppendBulk(out, arguments[1]);
  AppendSimpleString(out, "PONG");
}

void Echo(RespClient& /*client*/, RespArguments arguments, std::string& out) {
  AppendBulk(out, arguments[1]);
}

void Hello(RespClient& client, RespArguments arguments, std::string& out) {
  HelloOptions options;
  if (!ReadHello(arguments, options, out)) return;
  if (options.logs_in && !Authenticate(client, options.user, options.token, out)) return;
  if (options.sets_name && !SetName(client, options.name, out)) return;
  if (options.version != 0) {
    client.protocol = options.version == 3 ? resp::Protocol::kResp3 : resp::Protocol::kResp2;
  }
  resp::AppendMapHeader(out, 7, client.protocol);
  const std::pair<std::string_view, std::string_view> texts[] = {
      {"server", "sluice"},
      {"version", client.services.version()},
      {"mode", "standalone"},
      {"role", "master"},
  };
  for (const auto& [field, value] : texts) {
    AppendBulk(out, field);
    AppendBulk(out, value);
  }
  AppendBulk(out, "proto");
  AppendInteger(out, client.protocol == resp::Protocol::kResp3 ? 3 : 2);
  AppendBulk(out, "id");
  AppendInteger(out, static_cast<std::int64_t>(client.id));
  AppendBulk(out, "modules");
  resp::AppendArrayHeader(out, 0);
}

void Auth(RespClient& client, RespArguments arguments, std::string& out) {
  const bool names_user = arguments.size() > 2;
  if (!names_user && TrustsLocal(client) &&
      !client.services.admin().authenticator().IsCredential(arguments.back())) {
    return AppendError(out,
                       "ERR AUTH <password> called without any password configured for the default "
                       "user. Are you sure your configuration is correct?");
  }
  const std::string_view user = names_user ? arguments[1] : std::string_view("default");
  if (Authenticate(client, user, arguments.back(), out)) AppendSimpleString(out, "OK");
}

void Select(RespClient& /*client*/, RespArguments arguments, std::string& out) {
  const auto number = ParseNumber<std::int64_t>(arguments[1]);
  if (!number) return AppendError(out, "ERR invalid DB index");
  if (*number != 0) return AppendError(out, "ERR DB index is out of range");
  AppendSimpleString(out, "OK");
}

void Quit(RespClient& client, RespArguments /*arguments*/, std::string& out) {
  client.quits = true;
  AppendSimpleString(out, "OK");
}

void Reset(RespClient& client, RespArguments /*arguments*/, std::string& out) {
  client.protocol = resp::Protocol::kResp2;
  client.login.reset();
  client.name.clear();
  AppendSimpleString(out, "RESET");
}

void ClientCommand(RespClient& client, RespArguments arguments, std::string& out) {
  struct Subcommand {
    std::string_view name;
    std::size_t arguments;  ///< With CLIENT and its own name.
    void (*run)(RespClient& client, RespArguments arguments, std::string& out);
  };
  static constexpr Subcommand kSubcommands[] = {
      {"help", 2,
       [](RespClient& /*it*/, RespArguments /*words*/, std::string& reply) {
         AppendHelp({"CLIENT <subcommand> [<arg> ...]. Subcommands are:",
                     "GETNAME",
                     "    The name of this connection.",
                     "ID",
                     "    Its number.",
                     "INFO",
                     "    Its description.",
                     "LIST",
                     "    The same: other connections are not listed.",
                     "NO-EVICT (ON|OFF)",
                     "    Accepted, without effect.",
                     "NO-TOUCH (ON|OFF)",
                     "    Accepted, without effect.",
                     "REPLY ON",
                     "    Every command is answered.",
                     "SETINFO (LIB-NAME|LIB-VER) <text>",
                     "    Which library the client uses.",
                     "SETNAME <name>",
                     "    Names this connection.",
                     "HELP",
                     "    This."},
                    reply);
       }},
      {"setname", 3,
       [](RespClient& it, RespArguments words, std::string& reply) {
         if (SetName(it, words[2], reply)) AppendSimpleString(reply, "OK");
       }},
      {"getname", 2,
       [](RespClient& it, RespArguments /*words*/, std::string& reply) {
         if (it.name.empty()) return AppendNull(reply, it.protocol);
         AppendBulk(reply, it.name);
       }},
      {"id", 2,
       [](RespClient& it, RespArguments /*words*/, std::string& reply) {
         AppendInteger(reply, static_cast<std::int64_t>(it.id));
       }},
      {"setinfo", 4,
       [](RespClient& it, RespArguments words, std::string& reply) {
         SetInfo(it, words[2], words[3], reply);
       }},
      {"info", 2,
       [](RespClient& it, RespArguments /*words*/, std::string& reply) {
         AppendBulk(reply, DescribeClient(it));
       }},
      // Lists only this connection.
      {"list", 2,
       [](RespClient& it, RespArguments /*words*/, std::string& reply) {
         AppendBulk(reply, DescribeClient(it));
       }},
      {"no-evict", 3,
       [](RespClient& /*it*/, RespArguments words, std::string& reply) {
         SwitchThatMeansNothing(words[2], reply);
       }},
      {"no-touch", 3,
       [](RespClient& /*it*/, RespArguments words, std::string& reply) {
         SwitchThatMeansNothing(words[2], reply);
       }},
      {"reply", 3,
       [](RespClient& /*it*/, RespArguments words, std::string& reply) {
         if (EqualIgnoringCase(words[2], "on")) return AppendSimpleString(reply, "OK");
         AppendError(reply,
                     "ERR every command is answered here: only CLIENT REPLY ON is supported");
       }},
  };
  for (const Subcommand& subcommand : kSubcommands) {
    if (!EqualIgnoringCase(arguments[1], subcommand.name)) continue;
    if (arguments.size() == subcommand.arguments) return subcommand.run(client, arguments, out);
    return AppendWrongArity("client|" + std::string(subcommand.name), {}, out);
  }
  AppendUnknownSubcommand("CLIENT", arguments[1], out);
}

}  // namespace sluice::api

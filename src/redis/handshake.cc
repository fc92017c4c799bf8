#include "redis/handshake.h"

#include <vector>

namespace sluice::redis {
namespace {

bool SpeaksOnlyResp2(resp::Value reply) {
  return reply.error_code() == "NOPROTO" || reply.text().starts_with("ERR unknown command");
}

bool MayPass(resp::Value reply) {
  const std::string_view code = reply.error_code();
  return code == "LOADING" || code == "BUSY" || code == "MASTERDOWN";
}

// Old servers repeat the arguments of a command that they don't know.
std::string WithoutSecrets(std::string_view text, const Secret& password) {
  std::string clean(text.substr(0, text.find(", with args beginning with")));
  if (password.empty()) return clean;
  for (std::size_t at = clean.find(password.Reveal()); at != std::string::npos;
       at = clean.find(password.Reveal(), at + 3)) {
    clean.replace(at, password.Reveal().size(), "***");
  }
  return clean;
}

}  // namespace

void Handshake::Start(std::string& out) {
  std::vector<std::string_view> hello = {"HELLO", "3"};
  if (!password_.empty()) {
    const std::string_view user = options_.username;
    hello.insert(hello.end(), {"AUTH", user.empty() ? "default" : user, password_.Reveal()});
  }
  if (!options_.client_name.empty()) hello.insert(hello.end(), {"SETNAME", options_.client_name});
  resp::AppendCommand(out, hello);
}

Handshake::Step Handshake::OnReply(resp::Value reply, std::string& out) {
  switch (asked_) {
    case Asked::kHello:
      if (!reply.is_error()) return SendSelect(out);
      if (!SpeaksOnlyResp2(reply)) return Refuse("HELLO", reply);
      protocol_ = resp::Protocol::kResp2;
      return password_.empty() ? SendSetName(out) : SendAuth(out);
    case Asked::kAuth:
      return reply.is_error() ? Refuse("AUTH", reply) : SendSetName(out);
    case Asked::kSetName:
      return SendSelect(out);  // The name is optional: permission to set it may be missing.
    case Asked::kSelect:
      return reply.is_error() ? Refuse("SELECT", reply) : SendRole(out);
    case Asked::kRole:
      return reply.is_error() ? Refuse("ROLE", reply) : ReadRole(reply);
  }
  return Step::kDone;
}

Handshake::Step Handshake::SendAuth(std::string& out) {
  asked_ = Asked::kAuth;
  if (options_.username.empty()) {
    resp::AppendCommand(out, {"AUTH", password_.Reveal()});
  } else {
    resp::AppendCommand(out, {"AUTH", options_.username, password_.Reveal()});
  }
  return Step::kSend;
}

Handshake::Step Handshake::SendSetName(std::string& out) {
  if (options_.client_name.empty()) return SendSelect(out);
  asked_ = Asked::kSetName;
  resp::AppendCommand(out, {"CLIENT", "SETNAME", options_.client_name});
  return Step::kSend;
}

Handshake::Step Handshake::SendSelect(std::string& out) {
  if (options_.database == 0) return SendRole(out);
  asked_ = Asked::kSelect;
  resp::AppendCommand(out, {"SELECT", std::to_string(options_.database)});
  return Step::kSend;
}

Handshake::Step Handshake::SendRole(std::string& out) {
  if (options_.topology != Topology::kSentinel) return Step::kDone;
  asked_ = Asked::kRole;
  resp::AppendCommand(out, {"ROLE"});
  return Step::kSend;
}

Handshake::Step Handshake::ReadRole(resp::Value reply) {
  const std::string_view role = reply.size() > 0 ? reply.at(0).text() : "";
  if (role == "master") return Step::kDone;
  error_ = "not the primary, although the sentinels name it: its role is " + std::string(role);
  return Step::kNotNow;
}

Handshake::Step Handshake::Refuse(std::string_view command, resp::Value reply) {
  const bool may_pass = MayPass(reply);
  error_ = may_pass ? "Redis is not ready: " : "refused by Redis: ";
  error_.append(command).append(": ").append(WithoutSecrets(reply.text(), password_));
  return may_pass ? Step::kNotNow : Step::kRefused;
}

}  // namespace sluice::redis

#include "api/resp/session.h"

#include <array>
#include <atomic>
#include <memory>
#include <utility>

#include "api/admin/access.h"
#include "api/admin/audit_trail.h"
#include "base/ascii.h"

namespace sluice::api {
namespace {

using limiter::CheckRequest;

constexpr std::string_view kNoIdentityReply =
    "NO_IDENTITY the call has neither `ip` nor `api_key`, and such calls are refused";

std::uint64_t NextClientId() {
  static std::atomic<std::uint64_t> last{0};
  // Relaxed: ids must differ, and say nothing else.
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// The first byte of a TLS client: a record with a handshake.
constexpr char kTlsHandshake = 0x16;

// Browsers that were tricked into talking to a Redis begin like this. What follows is not theirs to
// decide, so nothing more is read.
bool IsHttp(std::string_view name) {
  return EqualIgnoringCase(name, "post") || EqualIgnoringCase(name, "host:");
}

void AppendUnknownCommand(RespArguments arguments, std::string& out) {
  std::string message = "ERR unknown command '";
  message.append(Quotable(arguments[0])).append("', with args beginning with: ");
  constexpr std::size_t kMost = 128;
  std::size_t quoted = 0;
  for (const std::string_view argument : arguments.subspan(1)) {
    if (quoted >= kMost) break;
    const std::string_view part = argument.substr(0, kMost - quoted);
    message.append("'").append(part).append("' ");
    quoted += part.size() + 3;
  }
  resp::AppendError(out, message);
}

void AppendForbidden(const RespClient& client, const identity::Principal& principal,
                     const RespCommand& command, std::string& out) {
  identity::Authenticator& authenticator = client.services.admin().authenticator();
  const bool has_role = principal.role != identity::Role::kNone;
  const bool needs_login =
      !has_role && (client.login || !authenticator.trusts_local() || authenticator.has_tokens());
  std::string message(needs_login ? "NOAUTH Authentication required: '" : "NOPERM '");
  message.append(command.name);
  if (has_role && principal.Has(command.role)) {
    message.append("' changes more than the rules in the caller's scope");
  } else if (has_role) {
    message.append("' needs the role ").append(LabelOf(command.role));
    message.append(", the caller has ").append(LabelOf(principal.role));
  } else {
    message.append(needs_login ? "' needs an admin token"
                               : "' is for local clients only, as no admin token is configured");
  }
  resp::AppendError(out, message);
}

std::size_t BytesOf(RespArguments arguments) {
  std::size_t bytes = 0;
  for (const std::string_view argument : arguments) bytes += argument.size();
  return bytes;
}

}  // namespace

RespSession::RespSession(RespLoop& loop, transport::Transport& transport, Peer peer)
    : CallSession(transport, loop.batch(), ReplyOrder::kRequests),
      loop_(loop),
      client_{.services = loop.services(), .peer = std::move(peer), .id = NextClientId()} {}

void RespSession::Receive(std::string_view bytes) {
  if (closing_ || bytes.empty()) return;
  // Taken for commands, its bytes would be answered with errors, one after the other.
  if (!std::exchange(began_, true) && bytes.front() == kTlsHandshake) {
    loop_.services().counters().protocol_errors[Protocol::kResp].Add();
    closing_ = true;
    return;
  }
  reader_.Feed(bytes);
  RunCommands();
}

bool RespSession::in_request() const {
  return pending_ < loop_.max_pending() && pause_ == transport::PauseReason::kNone &&
         reader_.unread() > 0;
}

std::size_t RespSession::held_bytes() const {
  return output_.capacity() + held_replies() + reader_.held() +
         calls_under_way() * sizeof(CheckCall::Part);
}

void RespSession::Resume() {
  if (!closing_ && (draining_ || reader_.unread() > 0 || pause_ != transport::PauseReason::kNone)) {
    RunCommands();
  }
}

void RespSession::Drain() {
  draining_ = true;
  RunCommands();
}

// Runs what has arrived, as far as the store and the client keep up.
void RespSession::RunCommands() {
  using Status = wire::CommandReader::Status;
  BeginWork();
  while (!closing_ && HasRoomForCall(loop_.max_pending())) {
    if (awaits_work_) {
      pause_ = transport::PauseReason::kWork;
      break;
    }
    if (reader_.unread() > 0) {
      if (output_.size() + held_replies() >= kMaxOutput) pause_ = transport::PauseReason::kOutput;
      if (pause_ != transport::PauseReason::kNone || !MayRun(batched())) break;
    }
    const Status status = reader_.Next();
    if (status == Status::kCommand) {
      RunCommand(reader_.arguments());
    } else if (status == Status::kError) {
      if (reader_.is_too_large()) transport().CountExceeded(transport::ResourceBound::kBodySize);
      Refuse("ERR " + reader_.error());
    } else {
      closing_ = draining_;
      break;
    }
  }
  DecideBatch();
  reader_.Keep();
  if (!closing_ && pending_ >= loop_.max_pending() && reader_.unread() > kMaxBacklog) {
    Refuse("ERR Protocol error: too many commands without waiting for an answer");
  }
}

void RespSession::Refuse(std::string_view error) {
  loop_.services().counters().protocol_errors[Protocol::kResp].Add();
  resp::AppendError(ReplyNow(), error);
  closing_ = true;
}

void RespSession::RunCommand(RespArguments arguments) {
  const RespCommand* const command = FindRespCommand(arguments[0]);
  if (command == nullptr) {
    if (!IsHttp(arguments[0])) return AppendUnknownCommand(arguments, ReplyNow());
    loop_.services().counters().protocol_errors[Protocol::kResp].Add();
    closing_ = true;
    return;
  }
  if (!command->Takes(arguments.size())) {
    return AppendWrongArity(command->name, command->usage, ReplyNow());
  }
  if (NeedsRole(loop_.services(), command->role)) {
    const identity::PrincipalPointer principal = client_.principal();
    const bool is_in_scope = principal->scope.empty() || !command->needs_whole_scope();
    if (!principal->Has(command->role) || !is_in_scope) {
      return AppendForbidden(client_, *principal, *command, ReplyNow());
    }
    if (command->role >= identity::Role::kOperator) {
      loop_.services().admin().LogChange(OriginOf(*principal, client_.peer), command->name, {});
    }
  }
  if (command->ask != nullptr) return Ask(*command, arguments);
  if (command->begin != nullptr) return AwaitWork(*command, arguments);
  command->answer(client_, arguments, ReplyNow());
  closing_ = client_.quits;
}

// Makes a call of the command. The batch is decided before the next reply that needs no check.
void RespSession::Ask(const RespCommand& command, RespArguments arguments) {
  constexpr std::size_t kMaxPooled = 8192;
  std::unique_ptr<RespCall> call = loop_.Take();
  call->command = &command;
  call->is_long = BytesOf(arguments) > kMaxPooled;
  CheckCall::Part& part = call->Add();
  if (!command.is_administrative()) AddCertificate(client_.peer, part.check);
  std::string& refusal = loop_.refusal();
  if (!command.ask(loop_, loop_.Shown(command, arguments), *call, refusal)) {
    ReplyNow() += refusal;
    refusal.clear();
    return loop_.GiveBack(std::move(call));
  }
  const bool is_by_rules = call->settlement == nullptr && part.check.own_limits() == 0;
  if (is_by_rules && !command.is_administrative() && loop_.services().requires_identity() &&
      !HasIdentity(part.check)) {
    resp::AppendError(ReplyNow(), kNoIdentityReply);
    return loop_.GiveBack(std::move(call));
  }
  if (command.is_administrative()) {
    AuditOperation(loop_.services(), OriginOf(*client_.principal(), client_.peer), part.check);
  }
  Submit(*call.release());  // GiveBack owns it again.
}

// One at a time, so that commands take effect in their order.
void RespSession::AwaitWork(const RespCommand& command, RespArguments arguments) {
  RespWork work;
  if (!command.begin(client_, arguments, work, ReplyNow())) return;
  const auto call = std::make_shared<RespCall>(loop_);
  call->command = &command;
  Await(*call);
  awaits_work_ = true;
  work.start([call](std::string reply) {
    auto* const session = static_cast<RespSession*>(call->session);
    if (session == nullptr) return;
    call->work_reply = std::move(reply);
    session->awaits_work_ = false;
    session->Finish(*call);
    session->GoOn();
  });
}

void RespSession::WriteReply(CheckCall& base, std::string& out) {
  auto& call = static_cast<RespCall&>(base);
  if (call.command->begin != nullptr) {
    out += call.work_reply;
    return;
  }
  call.command->reply(call, out);
}

}  // namespace sluice::api

#include "api/resp_session.h"

#include <array>
#include <atomic>
#include <memory>
#include <utility>

namespace sluice::api {
namespace {

using limiter::Question;

std::uint64_t NextClientId() {
  static std::atomic<std::uint64_t> last{0};
  // Relaxed: ids must differ, and say nothing else.
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Browsers that were tricked into talking to a Redis begin like this. What follows is not theirs to
// decide, so nothing more is read.
bool IsHttp(std::string_view name) {
  return EqualsIgnoringCase(name, "post") || EqualsIgnoringCase(name, "host:");
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

void AppendForbidden(const RespClient& client, const RespCommand& command, std::string& out) {
  std::string message(client.host.has_admin_token() ? "NOAUTH Authentication required: '"
                                                    : "NOPERM '");
  message.append(command.name);
  message.append(client.host.has_admin_token()
                     ? "' needs the admin token"
                     : "' is for local clients only, as no admin token is configured");
  resp::AppendError(out, message);
}

std::size_t BytesOf(RespArguments arguments) {
  std::size_t bytes = 0;
  for (const std::string_view argument : arguments) bytes += argument.size();
  return bytes;
}

}  // namespace

RespSession::RespSession(RespLoop& loop, SessionHost& carrier, Peer peer)
    : loop_(loop),
      carrier_(carrier),
      client_{.host = loop.host(), .peer = std::move(peer), .id = NextClientId()},
      replies_(output_, loop.places()) {}

RespSession::~RespSession() {
  for (RespQuestion* asked : waiting_) asked->session = nullptr;
}

void RespSession::Receive(std::string_view bytes) {
  if (closing_) return;
  reader_.Feed(bytes);
  RunCommands();
}

bool RespSession::in_request() const {
  return pending_ < loop_.max_pending() && !held_back_ && reader_.unread() > 0;
}

void RespSession::Drain() {
  draining_ = true;
  RunCommands();
}

// Runs what has arrived, as far as the store and the client keep up.
void RespSession::RunCommands() {
  using Status = wire::CommandReader::Status;
  held_back_ = false;
  while (!closing_ && MayAsk()) {
    held_back_ = output_.size() + replies_.held() >= kMostOutput && reader_.unread() > 0;
    if (held_back_) break;
    const Status status = reader_.Next();
    if (status == Status::kCommand) {
      RunCommand(reader_.arguments());
    } else if (status == Status::kError) {
      Refuse("ERR " + reader_.error());
    } else {
      closing_ = draining_;
      break;
    }
  }
  AskAll();
  reader_.Keep();
  if (!closing_ && pending_ >= loop_.max_pending() && reader_.unread() > kMaxBacklog) {
    Refuse("ERR Protocol error: too many commands without waiting for an answer");
  }
}

// Whether there is room for one more answer that may have to be waited for.
bool RespSession::MayAsk() {
  if (pending_ + loop_.batch().size >= loop_.max_pending()) AskAll();
  return pending_ < loop_.max_pending();
}

// Where a reply goes that is known now. Those to what was asked before it come first.
std::string& RespSession::ReplyNow() {
  AskAll();
  return replies_.Now();
}

void RespSession::Refuse(std::string_view error) {
  loop_.host().CountProtocolError(Protocol::kResp);
  resp::AppendError(ReplyNow(), error);
  closing_ = true;
}

void RespSession::RunCommand(RespArguments arguments) {
  const RespCommand* const command = FindRespCommand(arguments[0]);
  if (command == nullptr) {
    if (!IsHttp(arguments[0])) return AppendUnknownCommand(arguments, ReplyNow());
    loop_.host().CountProtocolError(Protocol::kResp);
    closing_ = true;
    return;
  }
  if (!command->Takes(arguments.size())) {
    return AppendWrongArity(command->name, command->usage, ReplyNow());
  }
  if (command->for_administrators && !client_.may_administer()) {
    return AppendForbidden(client_, *command, ReplyNow());
  }
  if (command->ask != nullptr) return Ask(*command, arguments);
  command->answer(client_, arguments, ReplyNow());
  closing_ = client_.quits;
}

// Makes a question of the command, to be asked together with others: see AskAll.
void RespSession::Ask(const RespCommand& command, RespArguments arguments) {
  constexpr std::size_t kWorthKeeping = 8192;
  std::unique_ptr<RespQuestion> asked = loop_.Take();
  asked->is_large = BytesOf(arguments) > kWorthKeeping;
  if (!command.for_administrators) AddCertificate(client_.peer, asked->question);
  std::string& refusal = loop_.refusal();
  if (!command.ask(loop_.throttle_limits(), loop_.Shown(command, arguments), asked->question,
                   refusal)) {
    ReplyNow() += refusal;
    refusal.clear();
    return loop_.GiveBack(std::move(asked));
  }
  if (asked->question.own_limits() == 0) {
    AddCounted(loop_.host().identifier(), asked->question);
  }
  asked->command = &command;
  asked->question.on_done = AnsweredLater;
  asked->question.context = asked.get();
  RespLoop::Batch& batch = loop_.batch();
  batch.asked[batch.size++] = std::move(asked);
  if (batch.size == batch.asked.size()) AskAll();
}

// Asks what was put off, before anybody could tell: before the next reply that needs no store, and
// before the session lets go of the loop.
void RespSession::AskAll() {
  RespLoop::Batch& batch = loop_.batch();
  if (batch.size == 0) return;
  std::array<Question*, limiter::Limiter::kMostAtOnce> questions;
  for (std::size_t i = 0; i < batch.size; ++i) questions[i] = &batch.asked[i]->question;
  Host& host = loop_.host();
  host.limiter().AskBatch({questions.data(), batch.size}, host.now());
  for (std::size_t i = 0; i < batch.size; ++i) {
    std::unique_ptr<RespQuestion> asked = std::move(batch.asked[i]);
    if (asked->question.pending()) {
      Await(std::move(asked));
    } else {
      host.CountAnswer(Protocol::kResp, asked->question);
      asked->command->reply(asked->question, replies_.Now());
      loop_.GiveBack(std::move(asked));
    }
  }
  batch.size = 0;
}

void RespSession::Await(std::unique_ptr<RespQuestion> asked) {
  asked->session = this;
  asked->place = &replies_.Later();
  asked->index = waiting_.size();
  waiting_.push_back(asked.release());  // The store has it now; AnsweredLater owns it again.
  pending_ = waiting_.size();
}

void RespSession::AnsweredLater(Question& question, void* context) {
  std::unique_ptr<RespQuestion> asked(static_cast<RespQuestion*>(context));
  RespLoop& loop = asked->loop;
  loop.host().CountAnswer(Protocol::kResp, question);
  RespSession* const session = asked->session;
  if (session != nullptr) session->Settle(*asked);
  loop.GiveBack(std::move(asked));
  if (session != nullptr) session->GoOn();
}

// Lets the reply go, once those before it have gone.
void RespSession::Settle(RespQuestion& asked) {
  asked.command->reply(asked.question, asked.place->text);
  replies_.Finish(*asked.place);
  waiting_[asked.index] = waiting_.back();
  waiting_[asked.index]->index = asked.index;
  waiting_.pop_back();
  pending_ = waiting_.size();
}

// Nothing here may be touched after the carrier is told: it may end the session.
void RespSession::GoOn() {
  if (!closing_ && (draining_ || reader_.unread() > 0)) RunCommands();
  if (!output_.empty() || closing_) carrier_.OutputReady();
}

}  // namespace sluice::api

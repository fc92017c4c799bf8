#include "redis/connection.h"

#include <algorithm>
#include <utility>

namespace sluice::redis {
namespace {

constexpr std::string_view kAskingCommand = "*1\r\n$6\r\nASKING\r\n";

net::StreamOptions StreamOptionsOf(const Options& options, const ServerAddress& server) {
  return {.host = server.host,
          .port = server.port,
          .unix_socket = options.unix_socket,
          .tls = options.tls,
          .connect_timeout = options.connect_timeout};
}

resp::DecoderLimits LimitsOf(const Options& options) {
  return {.max_bytes = options.max_reply_bytes, .max_text = options.max_reply_bytes};
}

}  // namespace

Client::Connection::Connection(net::Loop& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      address_(AddressOf(options_)),
      breaker_(options_.breaker),
      backoff_(options_.backoff_min, options_.backoff_max),
      alarm_(loop, [this] { turn_end_.Schedule(); }),
      timeout_(loop, [this] { Drop(Failure::kNotConnected, "no answer within connect_timeout"); }),
      retry_(loop, [this] { StartAttempt(); }),
      try_(loop, [this] { ProbeIfIdle(); }),
      turn_end_(loop, [this] { FinishTurn(); }) {
  if (options_.topology != Topology::kSentinel) return;
  finder_ = std::make_unique<PrimaryFinder>(
      loop, options_,
      PrimaryFinder::Events{.on_found = [this](const FoundPrimary& found) { OnFound(found); },
                            .on_hint = [this] { OnHint(); }});
}

Client::Connection::~Connection() {
  Close();
  while (!rejected_.empty()) RunRejected();
}

void Client::Connection::Send(std::string_view command, const CallDeadline& deadline,
                              Handler handler, Before before) {
  stats_.calls.Add();
  last_asked_ = loop_.Now();
  turn_end_.Schedule();
  if (auto obstacle = FindObstacle(command.size())) {
    stats_.rejected.Add();
    rejected_.push_back({std::move(handler), std::move(*obstacle)});
    return;
  }
  wanted_ = true;
  if (before == Before::kAsking) {
    queue_.Push(kAskingCommand, deadline, [](const Answer&) {}, loop_.Now());
  }
  queue_.Push(command, deadline, std::move(handler), loop_.Now());
}

// Returns the reason why a call can't be queued.
std::optional<CallError> Client::Connection::FindObstacle(std::size_t command_bytes) {
  if (state() == State::kClosed) {
    return CallError{Failure::kClosed, Execution::kNotSent, address_ + ": the client is closed"};
  }
  if (state() == State::kWaiting && refused_) {
    return CallError{Failure::kRefused, Execution::kNotSent, last_error_};
  }
  if (queue_.size() >= options_.max_queued ||
      queue_.unsent_bytes() + command_bytes > options_.max_queued_bytes) {
    return CallError{Failure::kQueueFull, Execution::kNotSent,
                     address_ + ": " + std::to_string(queue_.size()) + " calls wait already"};
  }
  if (!breaker_.Admit(loop_.Now())) {
    return CallError{
        Failure::kBreakerOpen, Execution::kNotSent,
        (last_error_.empty() ? address_ : last_error_) + "; has failed lately, and is left alone"};
  }
  if (state() == State::kWaiting && !options_.wait_for_connection) {
    breaker_.Failed(loop_.Now());
    return CallError{Failure::kNotConnected, Execution::kNotSent, last_error_};
  }
  return std::nullopt;
}

void Client::Connection::Connect() {
  wanted_ = true;
  turn_end_.Schedule();
}

void Client::Connection::Subscribe(std::span<const std::string> channels) {
  std::vector<std::string_view> command = {"SUBSCRIBE"};
  command.insert(command.end(), channels.begin(), channels.end());
  resp::AppendCommand(subscribe_, command);
}

void Client::Connection::StartAttempt() {
  SetState(State::kConnecting);
  attempt_began_ = loop_.Now();
  if (const auto problem = FindProblem(options_)) return Drop(Failure::kRefused, problem->message);
  if (options_.topology == Topology::kCluster) {
    return Drop(Failure::kRefused, "a cluster needs a client for clusters");
  }
  if (finder_) return finder_->Find();
  Open({options_.host, options_.port});
}

void Client::Connection::OnFound(const FoundPrimary& found) {
  if (state() == State::kReady) {
    if (found.server && *found.server != server_) Leave("no longer the primary, sentinels say");
  } else if (state() == State::kConnecting && !stream_) {
    if (found.server) return Open(*found.server);
    address_ = AddressOf(options_);
    Drop(found.unknown_name ? Failure::kRefused : Failure::kNotConnected, found.error);
  }
}

// A sentinel reported a change: the known primary may be outdated.
void Client::Connection::OnHint() {
  const bool finding = state() == State::kConnecting && !stream_;
  if (state() == State::kReady || finding) return finder_->Find();
  if (state() != State::kConnecting && state() != State::kWaiting) return;
  retry_.Cancel();
  timeout_.Cancel();
  stream_.reset();
  handshake_.reset();
  out_.clear();
  StartAttempt();
}

void Client::Connection::Open(const ServerAddress& server) {
  if (finder_) {
    address_ = ToText(server);
    attempt_began_ = loop_.Now();
  }
  server_ = server;
  auto password = ReadPassword(options_);
  if (!password) return Drop(Failure::kRefused, password.error().message);
  handshake_.emplace(options_, std::move(*password));
  decoder_ = resp::Decoder(LimitsOf(options_));
  stream_.emplace(loop_, StreamOptionsOf(options_, server), static_cast<net::StreamEvents&>(*this));
}

void Client::Connection::LeaveReplica() {
  if (finder_) Leave("a replica, not the primary");
}

// Pending calls still get their replies.
void Client::Connection::Leave(std::string reason) {
  if (state() != State::kReady || !leaving_.empty()) return;
  leaving_ = std::move(reason);
  turn_end_.Schedule();
}

void Client::Connection::OnConnected() {
  timeout_.Set(attempt_began_ + options_.connect_timeout);
  handshake_->Start(out_);
  WritePending();
}

void Client::Connection::OnEnded(const std::string& reason) {
  Drop(handshake_ ? Failure::kNotConnected : Failure::kConnectionLost, reason);
}

void Client::Connection::OnData(std::string_view bytes) {
  stats_.bytes_received.Add(bytes.size());
  last_heard_ = last_data_ = loop_.Now();
  turn_end_.Schedule();
  decoder_.Feed(bytes);
  // A reply may end the connection, or its handler the client.
  while (stream_) {
    switch (decoder_.Next()) {
      case resp::Decoder::Status::kReply:
        OnReply(decoder_.reply());
        break;
      case resp::Decoder::Status::kNeedMore:
        return;
      case resp::Decoder::Status::kError:
        return Drop(Failure::kProtocol, "protocol error: " + decoder_.error());
    }
  }
}

void Client::Connection::OnReply(resp::Value reply) {
  const bool is_push = reply.type() == resp::Type::kPush ||
                       (!subscribe_.empty() && !handshake_ && queue_.in_flight() == 0);
  if (is_push) {
    stats_.pushes.Add();
    if (on_push_) on_push_(reply);
  } else if (handshake_) {
    OnHandshakeReply(reply);
  } else if (queue_.in_flight() == 0) {
    Drop(Failure::kProtocol, "protocol error: an unexpected reply: " + Describe(reply));
  } else {
    stats_.replies.Add();
    backoff_.Reset();  // Not earlier: a server may fail right after the login.
    const SteadyTime pushed = queue_.OldestPushed();
    const Handler handler = queue_.PopReplied();
    if (handler) {
      ReportReply(reply, pushed);
      handler(Answer(reply));
    } else {
      stats_.late_replies.Add();
      breaker_.TryNow();  // A late reply shows that the server is back.
    }
  }
}

void Client::Connection::OnHandshakeReply(resp::Value reply) {
  switch (handshake_->OnReply(reply, out_)) {
    case Handshake::Step::kSend:
      return WritePending();
    case Handshake::Step::kRefused:
      return Drop(Failure::kRefused, handshake_->error());
    case Handshake::Step::kNotNow:
      return Drop(Failure::kNotConnected, handshake_->error());
    case Handshake::Step::kDone:
      protocol_ = handshake_->protocol();
      handshake_.reset();
      timeout_.Cancel();
      refused_ = false;
      last_error_.clear();
      out_ += subscribe_;
      SetState(State::kReady);
      stats_.connects.Add();
      breaker_.TryNow();
      turn_end_.Schedule();
  }
}

// Closes the connection or the attempt, and schedules the next one.
void Client::Connection::Drop(Failure failure, const std::string& reason) {
  (state() == State::kReady ? stats_.disconnects : stats_.connect_failures).Add();
  const std::string message = address_ + ": " + reason;
  if (last_error_ != message && on_breaker_change_) {
    on_breaker_change_({address_, breaker_.state(), breaker_.state(), message});
  }
  last_error_ = message;
  refused_ = failure == Failure::kRefused;
  SetState(State::kWaiting);
  stream_.reset();
  handshake_.reset();
  timeout_.Cancel();
  out_.clear();
  leaving_.clear();
  retry_.Set(loop_.Now() + backoff_.Next());
  turn_end_.Schedule();

  std::vector<CallQueue::Ended> ended;
  queue_.PopInFlight(ended);
  stats_.lost.Add(ended.size());
  if (refused_ || !options_.wait_for_connection) queue_.PopUnsent(ended);
  ReportLost(ended.size());
  Finish(ended, failure, message);
}

void Client::Connection::Close() {
  if (state() == State::kClosed) return;
  SetState(State::kClosed);
  if (finder_) finder_->Close();
  stream_.reset();
  handshake_.reset();
  alarm_.Cancel();
  timeout_.Cancel();
  retry_.Cancel();
  try_.Cancel();
  std::vector<CallQueue::Ended> ended;
  queue_.PopInFlight(ended);
  queue_.PopUnsent(ended);
  stats_.queued.Set(0);
  stats_.in_flight.Set(0);
  Finish(ended, Failure::kClosed, address_ + ": the client was closed");
  RunRejected();
}

void Client::Connection::FinishTurn() {
  RunRejected();
  if (state() == State::kClosed) return;
  if (state() == State::kIdle && wanted_) StartAttempt();
  ExpireCalls();
  CheckStall();
  if (!leaving_.empty() && !queue_.AnyAwaited()) {
    const std::string reason = leaving_;  // Drop forgets it.
    Drop(Failure::kConnectionLost, reason);
  }
  WritePending();
  SetAlarm();
  ReportBreaker();
  stats_.queued.Set(queue_.unsent());
  stats_.in_flight.Set(queue_.in_flight());
}

void Client::Connection::RunRejected() {
  const std::vector<Rejected> rejected = std::exchange(rejected_, {});
  for (const Rejected& call : rejected) call.handler(Answer(call.error));
}

void Client::Connection::WritePending() {
  if (!stream_ || stream_->writing()) return;
  if (state() == State::kReady && leaving_.empty() && queue_.unsent() > 0) {
    if (queue_.in_flight() == 0) last_heard_ = loop_.Now();
    queue_.TakeCommands(out_);
  }
  if (out_.empty()) return;
  stats_.writes.Add();
  stats_.bytes_sent.Add(out_.size());
  stream_->Write(out_);
}

void Client::Connection::ExpireCalls() {
  std::vector<CallQueue::Ended> ended;
  queue_.PopExpired(loop_.Now(), ended);
  if (ended.empty()) return;
  stats_.timeouts.Add(ended.size());
  ReportExpired(ended);
  const bool was_ready = state() == State::kReady;
  const auto sent = std::partition(
      ended.begin(), ended.end(), [](const auto& call) { return call.ran == Execution::kNotSent; });
  const std::span<CallQueue::Ended> not_sent(ended.begin(), sent);
  if (was_ready) {
    Finish(not_sent, Failure::kTimeout, address_ + ": took no command before the deadline");
  } else {
    Finish(not_sent, Failure::kNotConnected,
           last_error_.empty() ? address_ + ": not connected before the deadline" : last_error_);
  }
  Finish({sent, ended.end()}, Failure::kTimeout, address_ + ": no reply before the deadline");
}

SteadyTime Client::Connection::StallsAt() {
  return queue_.OldestTimedOut() ? last_heard_ + options_.stall_timeout : SteadyTime::max();
}

// A slow server may catch up; a silent one is disconnected.
void Client::Connection::CheckStall() {
  if (loop_.Now() >= StallsAt())
    Drop(Failure::kConnectionLost, "no sign of life for stall_timeout");
}

void Client::Connection::SetAlarm() {
  const SteadyTime when = std::min(queue_.NextDeadline(), StallsAt());
  if (when == SteadyTime::max()) {
    alarm_.Cancel();
  } else {
    alarm_.Set(when);
  }
}

void Client::Connection::Finish(std::span<CallQueue::Ended> ended, Failure failure,
                                std::string message) {
  CallError error{failure, Execution::kNotSent, std::move(message)};
  for (CallQueue::Ended& call : ended) {
    error.ran = call.ran;
    call.handler(Answer(error));
  }
}

Stats Client::Connection::StatsApprox() const {
  Stats stats = stats_;
  stats.state = state();
  stats.connected = stats.state == State::kReady ? 1 : 0;
  switch (reported_breaker_.load(std::memory_order_relaxed)) {
    case Breaker::State::kClosed:
      stats.breakers_closed = 1;
      break;
    case Breaker::State::kOpen:
      stats.breakers_open = 1;
      break;
    case Breaker::State::kHalfOpen:
      stats.breakers_half_open = 1;
      break;
  }
  return stats;
}

}  // namespace sluice::redis

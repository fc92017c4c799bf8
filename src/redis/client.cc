#include "redis/client.h"

#include <utility>

#include "redis/connection.h"
#include "redis/error_reply.h"

namespace sluice::redis {

Client::Client(net::Loop& loop, Options options)
    : connection_(std::make_unique<Connection>(loop, std::move(options))) {}

Client::~Client() = default;

void Client::Send(std::string_view command, const CallDeadline& deadline, Handler handler) {
  connection_->Send(command, deadline, std::move(handler));
}

void Client::SendAsking(std::string_view command, const CallDeadline& deadline, Handler handler) {
  connection_->Send(command, deadline, std::move(handler), Connection::Before::kAsking);
}

void Client::Send(Route& route, std::string_view command, SteadyTime deadline, Handler handler) {
  connection_->Send(command, {deadline, route.callers_deadline}, std::move(handler));
}

RetryAdvice Client::AdviceFor(const Answer& answer, Route& /*route*/) {
  if (!answer) return RetryAdvice::kGiveUp;  // It has waited already, as long as that made sense.
  const std::string_view code = CodeOf(answer.reply());
  if (code == "READONLY") connection_->LeaveReplica();
  return MayPass(code) ? RetryAdvice::kLater : RetryAdvice::kGiveUp;
}

void Client::Subscribe(std::span<const std::string> channels) { connection_->Subscribe(channels); }

void Client::OnBreakerChange(BreakerListener listener) {
  connection_->OnBreakerChange(std::move(listener));
}

void Client::Connect() { connection_->Connect(); }

void Client::Close() { connection_->Close(); }

void Client::OnPush(std::function<void(resp::Value)> handler) {
  connection_->OnPush(std::move(handler));
}

State Client::state() const { return connection_->state(); }

resp::Protocol Client::protocol() const { return connection_->protocol(); }

const std::string& Client::last_error() const { return connection_->last_error(); }

const Options& Client::options() const { return connection_->options(); }

Stats Client::StatsApprox() const { return connection_->StatsApprox(); }

}  // namespace sluice::redis

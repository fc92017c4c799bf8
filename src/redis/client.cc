#include "redis/client.h"

#include <utility>

#include "redis/connection.h"

namespace sluice::redis {

Client::Client(net::Loop& loop, Options options)
    : connection_(std::make_unique<Connection>(loop, std::move(options))) {}

Client::~Client() = default;

void Client::Send(std::string_view command, SteadyTime deadline, Handler handler) {
  connection_->Send(command, deadline, std::move(handler));
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

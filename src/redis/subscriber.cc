#include "redis/subscriber.h"

#include <utility>

#include "resp/encoder.h"

namespace sluice::redis {
namespace {

constexpr Micros kPingEvery = std::chrono::seconds(1);

std::string PingCommand() {
  std::string command;
  resp::AppendCommand(command, {"PING"});
  return command;
}

}  // namespace

Subscriber::Subscriber(net::Loop& loop, const Options& options,
                       std::span<const std::string> channels, Events events)
    : loop_(loop),
      events_(std::move(events)),
      client_(loop, options),
      ping_(loop, [this] { Ping(); }),
      ping_command_(PingCommand()) {
  client_.Subscribe(channels);
  client_.OnPush([this](resp::Value push) { OnPush(push); });
}

void Subscriber::Start() {
  client_.Connect();
  ping_.Set(loop_.Now() + kPingEvery);
}

void Subscriber::Close() {
  ping_.Cancel();
  client_.Close();
}

void Subscriber::OnPush(resp::Value push) const {
  if (push.is_error() && events_.on_refused) events_.on_refused(push.text());
  constexpr std::size_t kElements = 3;
  if (push.size() != kElements) return;
  const std::string_view kind = push.at(0).text();
  if (kind == "message") events_.on_message(push.at(1).text(), push.at(2).text());
  if (kind == "subscribe" && events_.on_subscribed) events_.on_subscribed();
}

// RESP2 does not distinguish replies from messages; TCP keep-alive must suffice there.
void Subscriber::Ping() {
  ping_.Set(loop_.Now() + kPingEvery);
  if (client_.state() != State::kReady || client_.protocol() != resp::Protocol::kResp3) return;
  client_.Send(ping_command_, loop_.Now() + kPingEvery, [](const Answer&) {});
}

}  // namespace sluice::redis

#include "redis/primary_finder.h"

#include <array>
#include <utility>

#include "redis/client.h"
#include "redis/subscriber.h"
#include "resp/encoder.h"

namespace sluice::redis {
namespace {

std::string QuestionAbout(const std::string& name) {
  std::string command;
  resp::AppendCommand(command, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name});
  return command;
}

Options OptionsOf(const Options& options, const ServerAddress& sentinel) {
  Options of_sentinel = options;
  of_sentinel.topology = Topology::kSingle;
  of_sentinel.seeds.clear();
  of_sentinel.sentinel = {};
  of_sentinel.host = sentinel.host;
  of_sentinel.port = sentinel.port;
  of_sentinel.database = 0;
  of_sentinel.username = options.sentinel.username;
  of_sentinel.password = options.sentinel.password;
  of_sentinel.password_file = options.sentinel.password_file;
  of_sentinel.password_env = options.sentinel.password_env;
  of_sentinel.wait_for_connection = false;  // Other sentinels remain.
  return of_sentinel;
}

std::optional<ServerAddress> AddressIn(resp::Value reply) {
  ServerAddress server;
  if (reply.size() != 2 || ParsePort(reply.at(1).text(), server.port)) return std::nullopt;
  server.host = reply.at(0).text();
  if (server.host.empty()) return std::nullopt;
  return server;
}

}  // namespace

PrimaryFinder::PrimaryFinder(net::Loop& loop, const Options& options, Events events)
    : loop_(loop),
      options_(options),
      events_(std::move(events)),
      command_(QuestionAbout(options.sentinel.name)),
      step_(loop, [this] { Step(); }) {}

PrimaryFinder::~PrimaryFinder() { Close(); }

void PrimaryFinder::Close() {
  closed_ = true;
  if (client_) client_->Close();
  for (const auto& subscriber : subscribers_) subscriber->Close();
}

void PrimaryFinder::Find() {
  again_ = busy_;
  if (busy_ || closed_) return;
  if (subscribers_.empty()) Listen();
  busy_ = true;
  asked_ = 0;
  found_ = {};
  step_.Schedule();
}

void PrimaryFinder::Listen() {
  const std::array<std::string, 1> channels = {"+switch-master"};
  for (std::size_t i = 0; i < options_.seeds.size(); ++i) {
    const auto hear = [this, i](std::string_view /*channel*/, std::string_view message) {
      OnMessage(i, message);
    };
    // After an interruption, what was missed may have been a switch.
    const auto on_subscribed = [this, i] {
      if (subscribers_[i]->client().StatsApprox().connects > 1) events_.on_hint();
    };
    subscribers_.push_back(std::make_unique<Subscriber>(
        loop_, OptionsOf(options_, options_.seeds[i]), channels,
        Subscriber::Events{.on_message = hear, .on_subscribed = on_subscribed}));
    subscribers_.back()->Start();
  }
}

// "<name> <old host> <old port> <new host> <new port>"
void PrimaryFinder::OnMessage(std::size_t sentinel, std::string_view message) {
  if (!message.starts_with(options_.sentinel.name + " ")) return;
  first_ = sentinel;
  events_.on_hint();
}

// At the end of a turn, when no code of `client_` runs.
void PrimaryFinder::Step() {
  if (closed_ || !busy_) return;
  client_.reset();
  const std::size_t count = options_.seeds.size();
  if (!found_.server && asked_ < count) {
    return Ask(options_.seeds[(first_ + asked_++) % count]);
  }
  busy_ = false;
  if (found_.server) first_ = (first_ + asked_ - 1) % count;
  if (again_) return Find();
  events_.on_found(found_);
}

void PrimaryFinder::Ask(const ServerAddress& sentinel) {
  client_ = std::make_unique<Client>(loop_, OptionsOf(options_, sentinel));
  client_->Send(command_, loop_.Now() + options_.connect_timeout,
                [this, &sentinel](const Answer& answer) { OnReply(sentinel, answer); });
}

void PrimaryFinder::OnReply(const ServerAddress& sentinel, const Answer& answer) {
  step_.Schedule();
  if (answer) found_.server = AddressIn(answer.reply());
  if (found_.server) return;
  if (!found_.error.empty()) found_.error += "; ";
  found_.error += "sentinel ";
  if (!answer) {
    found_.error += answer.error().message;
  } else if (answer.reply().is_null()) {
    found_.unknown_name = true;
    found_.error += ToText(sentinel) + " knows no primary named '" + options_.sentinel.name + "'";
  } else {
    found_.error += ToText(sentinel) + ": " + Describe(answer.reply());
  }
}

}  // namespace sluice::redis

#include "lease/redis/listener.h"

#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "lease/redis/announcer.h"

namespace sluice::lease {
namespace {

constexpr Micros kLookEvery = std::chrono::seconds(1);

}  // namespace

Listener::Listener(net::Loop& loop, const redis::Options& options,
                   std::function<void(std::string_view)> on_message)
    : loop_(loop),
      options_(options),
      on_message_(std::move(on_message)),
      next_look_(loop, [this] { Look(); }) {
  Begin();
  if (options_.topology == redis::Topology::kCluster) next_look_.Set(loop_.Now() + kLookEvery);
}

Listener::~Listener() { subscriber_->Close(); }

void Listener::Begin() {
  redis::Options options = options_;
  if (options.topology == redis::Topology::kCluster) {
    const redis::ServerAddress& server = options_.seeds[seed_];
    options.topology = redis::Topology::kSingle;
    options.seeds.clear();
    options.host = server.host;
    options.port = server.port;
  }
  const std::array channels = {std::string(kChannel)};
  subscriber_ = std::make_unique<redis::Subscriber>(
      loop_, options, channels,
      redis::Subscriber::Events{
          .on_message = [this](std::string_view,
                               std::string_view message) { on_message_(message); },
          .on_subscribed = {}});
  subscriber_->Start();
}

void Listener::Look() {
  next_look_.Set(loop_.Now() + kLookEvery);
  if (subscriber_->client().state() == redis::State::kReady) return;
  seed_ = (seed_ + 1) % options_.seeds.size();
  subscriber_->Close();
  Begin();
}

}  // namespace sluice::lease

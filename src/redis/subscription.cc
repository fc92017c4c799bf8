#include "redis/subscription.h"

#include <chrono>
#include <utility>

namespace sluice::redis {
namespace {

constexpr Micros kCheckEvery = std::chrono::seconds(1);

}  // namespace

Subscription::Subscription(net::Loop& loop, Options options, std::vector<std::string> channels,
                           Subscriber::Events events)
    : loop_(loop),
      options_(std::move(options)),
      channels_(std::move(channels)),
      events_(std::move(events)),
      next_check_(loop, [this] { Check(); }) {
  Begin();
  if (options_.topology == Topology::kCluster) next_check_.Set(loop_.Now() + kCheckEvery);
}

Subscription::~Subscription() { subscriber_->Close(); }

void Subscription::Begin() {
  Options options = options_;
  if (options.topology == Topology::kCluster) {
    const ServerAddress& server = options_.seeds[seed_];
    options.topology = Topology::kSingle;
    options.seeds.clear();
    options.host = server.host;
    options.port = server.port;
  }
  subscriber_ = std::make_unique<Subscriber>(loop_, options, channels_, events_);
  subscriber_->Start();
}

void Subscription::Check() {
  next_check_.Set(loop_.Now() + kCheckEvery);
  if (subscriber_->client().state() == State::kReady) return;
  seed_ = (seed_ + 1) % options_.seeds.size();
  subscriber_->Close();
  Begin();
}

}  // namespace sluice::redis

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "net/loop.h"
#include "net/timer.h"
#include "redis/options.h"
#include "redis/subscriber.h"

namespace sluice::redis {

/// A subscription to channels of a Redis of any topology, over its own connection. With a cluster,
/// connects to one of the seeds, and to the next one if that is unreachable: every server of a
/// cluster has all messages.
///
/// Lives on its loop's thread. Connects at once.
class Subscription {
 public:
  Subscription(net::Loop& loop, Options options, std::vector<std::string> channels,
               Subscriber::Events events);
  ~Subscription();
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

 private:
  void Begin();
  void Check();

  net::Loop& loop_;
  const Options options_;
  const std::vector<std::string> channels_;
  const Subscriber::Events events_;
  std::size_t seed_ = 0;
  std::unique_ptr<Subscriber> subscriber_;
  net::Timer next_check_;
};

}  // namespace sluice::redis

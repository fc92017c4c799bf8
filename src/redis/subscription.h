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

/// A subscription to channels of a Redis of any topology, over a connection of its own. With a
/// cluster, to one of the servers that the options name, and to the next one while that is not
/// there: every server of a cluster has the messages of all.
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

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "net/loop.h"
#include "net/timer.h"
#include "redis/options.h"
#include "redis/subscriber.h"

namespace sluice::lease {

/// Hears what nodes at this Redis announce, over a connection of its own. With a cluster, to one of
/// the servers that the options name, and to the next one while that is not there.
///
/// Lives on its loop's thread.
class Listener {
 public:
  Listener(net::Loop& loop, const redis::Options& options,
           std::function<void(std::string_view message)> on_message);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  void Begin();
  void Look();

  net::Loop& loop_;
  const redis::Options options_;
  const std::function<void(std::string_view)> on_message_;
  std::size_t seed_ = 0;
  std::unique_ptr<redis::Subscriber> subscriber_;
  net::Timer next_look_;
};

}  // namespace sluice::lease

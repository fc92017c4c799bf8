#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "net/loop.h"
#include "net/timer.h"
#include "redis/service.h"

namespace sluice::server {

/// How many servers there are, as of what is known: more are believed at once, fewer only after a
/// while. When Redis has just come back, not all have been heard of yet. Pure.
class ServerCount {
 public:
  static constexpr Micros kDoubt = std::chrono::seconds(30);

  /// What was counted; returns what to go by.
  std::uint32_t Hear(std::uint32_t counted, SteadyTime now);

 private:
  std::uint32_t count_ = 1;
  SteadyTime confirmed_{};
};

/// Tells the other servers at the same Redis that this one lives, once a second, and hears how many
/// there are. All are members of one sorted set, with when they were last heard of by Redis' clock;
/// whoever is silent for three seconds is not counted. While Redis fails nothing is heard, and
/// whoever listens keeps to the last count.
///
/// Lives on its loop's thread; `service` must outlive it, and be closed before it goes.
class Heartbeat {
 public:
  Heartbeat(net::Loop& loop, redis::Service& service,
            std::function<void(std::uint32_t servers)> on_count);

 private:
  void Beat();
  void Send();
  void Hear(const redis::Answer& answer);

  net::Loop& loop_;
  redis::Service& service_;
  const std::function<void(std::uint32_t)> on_count_;
  std::string command_;
  redis::Route route_;
  int tries_ = 0;
  ServerCount count_;
  net::Timer next_;
};

}  // namespace sluice::server

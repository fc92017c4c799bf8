#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "net/loop.h"
#include "net/timer.h"
#include "redis/service.h"

namespace sluice::lease {

/// The number of processes that use one Redis. An increase takes effect immediately, a decrease
/// after kConfirmation, because not all peers have registered yet when Redis has just restarted.
/// Pure.
class PeerCount {
 public:
  static constexpr Micros kConfirmation = std::chrono::seconds(30);

  /// Takes a new count and returns the one in effect.
  std::uint32_t Update(std::uint32_t counted, SteadyTime now);

 private:
  std::uint32_t count_ = 1;
  SteadyTime confirmed_{};
};

/// How far Redis' clock is ahead of this machine's. Redis read its clock between the sending and
/// the reply, so the estimate moves only as far as it must to lie in that interval: a slow reply
/// does not disturb a good estimate. The error is at most the shortest round trip. Pure.
class ClockOffset {
 public:
  /// Takes one reading of Redis' clock and returns the estimate.
  Micros Update(WallTime sent, WallTime received, WallTime redis_time);

 private:
  Micros ahead_{0};
};

/// Receives the number of processes that use this Redis, and how far its clock is ahead.
using HeartbeatListener = std::function<void(std::uint32_t peers, Micros clock_ahead)>;

/// Registers this process at Redis once a second and counts its peers. Processes are members of a
/// sorted set, with the time of their last heartbeat by Redis' clock; a process without a heartbeat
/// for three seconds is not counted. While Redis fails, the last count stays. The reply also has
/// Redis' time.
///
/// Lives on its loop's thread. `service` must outlive it, and be closed before its destruction.
class Heartbeat {
 public:
  Heartbeat(net::Loop& loop, redis::Service& service, HeartbeatListener on_answer);

 private:
  void Beat();
  void Send();
  void OnReply(const redis::Answer& answer);

  net::Loop& loop_;
  redis::Service& service_;
  const HeartbeatListener on_answer_;
  std::string command_;
  redis::Route route_;
  int tries_ = 0;
  PeerCount count_;
  ClockOffset clock_;
  WallTime sent_{};
  net::Timer next_;
};

}  // namespace sluice::lease

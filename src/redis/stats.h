#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::redis {

enum class State : std::uint8_t {
  kIdle,        ///< Nobody has asked for anything yet.
  kConnecting,  ///< Until Redis has let us in.
  kReady,
  kWaiting,  ///< The last attempt failed; the next one is due in a moment.
  kClosed,
};

struct Stats {
  State state = State::kIdle;
  std::size_t connected = 0;   ///< Connections on which Redis has let us in: 0 or 1 to one server.
  std::uint64_t connects = 0;  ///< Connections on which Redis let us in.
  std::uint64_t connect_failures = 0;
  std::uint64_t disconnects = 0;  ///< Of connections that had been let in.
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;       ///< Late ones included.
  std::uint64_t timeouts = 0;      ///< Calls whose deadline passed, sent or not.
  std::uint64_t late_replies = 0;  ///< Of calls that had timed out.
  std::uint64_t rejected = 0;      ///< Calls that were refused at once.
  std::uint64_t lost = 0;          ///< Calls that were under way when a connection ended.
  std::uint64_t pushes = 0;
  std::uint64_t writes = 0;  ///< Times that bytes were given to the connection.
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::size_t breakers_closed = 0;  ///< One of these three for each server.
  std::size_t breakers_open = 0;
  std::size_t breakers_half_open = 0;
  std::uint64_t breaker_opened = 0;  ///< How often one opened.
  std::size_t queued = 0;            ///< Calls that wait to be sent.
  std::size_t in_flight = 0;         ///< Calls that wait for a reply, timed-out ones included.
};

}  // namespace sluice::redis

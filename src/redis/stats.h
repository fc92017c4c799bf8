#pragma once

#include <cstdint>
#include <string_view>

#include "base/counter.h"
#include "base/metrics.h"

namespace sluice::redis {

enum class State : std::uint8_t {
  kIdle,        ///< No call yet.
  kConnecting,  ///< Including the login.
  kReady,
  kWaiting,  ///< The last attempt failed; the next one is due in a moment.
  kClosed,
};

/// Counters of a client. Written on its loop's thread; copies may be read on any.
struct Stats {
  State state = State::kIdle;
  Counter connected{};  ///< Logged-in connections: 0 or 1 per server.
  Counter connects{};   ///< Successful logins.
  Counter connect_failures{};
  Counter disconnects{};  ///< Of logged-in connections.
  Counter calls{};
  Counter replies{};       ///< Late ones included.
  Counter timeouts{};      ///< Calls whose deadline passed, sent or not.
  Counter late_replies{};  ///< Of calls that had timed out.
  Counter rejected{};      ///< Calls that failed immediately.
  Counter lost{};          ///< Calls that were under way when a connection ended.
  Counter pushes{};
  Counter writes{};  ///< Write operations.
  Counter bytes_sent{};
  Counter bytes_received{};
  Counter breakers_closed{};  ///< Each server counts in one of these three.
  Counter breakers_open{};
  Counter breakers_half_open{};
  Counter breaker_opened{};  ///< Times that a breaker opened.
  Counter queued{};          ///< Unsent calls.
  Counter in_flight{};       ///< Calls that wait for a reply, timed-out ones included.

  /// Sums the numbers; the state stays.
  void operator+=(const Stats& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    using enum MetricType;
    using S = Stats;
    constexpr std::string_view kBreakers = "rate_limiter_redis_breaker_state";
    constexpr std::string_view kBreakersHelp =
        "Circuit breakers in each state; every event loop has one for each Redis server.";
    return std::tuple{
        Metric{kGauge, "rate_limiter_redis_connections", "Connections to Redis that are logged in.",
               &S::connected},
        Metric{kCounter, "rate_limiter_redis_connects_total", "Connections established.",
               &S::connects},
        Metric{kCounter, "rate_limiter_redis_connect_failures_total",
               "Failed attempts to connect to Redis.", &S::connect_failures},
        Metric{kCounter, "rate_limiter_redis_disconnects_total", "Connections to Redis that ended.",
               &S::disconnects},
        Metric{kCounter, "rate_limiter_redis_calls_total", "Commands for Redis.", &S::calls},
        Unlisted{&S::replies},
        Metric{kCounter, "rate_limiter_redis_timeouts_total",
               "Commands without a reply before their deadline.", &S::timeouts},
        Metric{kCounter, "rate_limiter_redis_late_replies_total",
               "Replies to commands that had timed out.", &S::late_replies},
        Unlisted{&S::rejected},
        Unlisted{&S::lost},
        Unlisted{&S::pushes},
        Unlisted{&S::writes},
        Metric{kCounter, "rate_limiter_redis_sent_bytes_total", "Bytes sent to Redis.",
               &S::bytes_sent},
        Metric{kCounter, "rate_limiter_redis_received_bytes_total", "Bytes received from Redis.",
               &S::bytes_received},
        Metric{kGauge, kBreakers, kBreakersHelp, &S::breakers_closed, "state", "closed"},
        Metric{kGauge, kBreakers, kBreakersHelp, &S::breakers_open, "state", "open"},
        Metric{kGauge, kBreakers, kBreakersHelp, &S::breakers_half_open, "state", "half_open"},
        Metric{kCounter, "rate_limiter_redis_breaker_opened_total",
               "Times that a circuit breaker opened.", &S::breaker_opened},
        Unlisted{&S::queued},
        Metric{kGauge, "rate_limiter_redis_in_flight", "Commands that wait for a reply.",
               &S::in_flight}};
  }
};
static_assert(HasAllMetrics<Stats, alignof(Stats)>, "a number without a row; `state` has none");

}  // namespace sluice::redis

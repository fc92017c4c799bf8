#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/loop.h"
#include "redis/breaker.h"
#include "redis/call.h"
#include "redis/options.h"
#include "redis/stats.h"

namespace sluice::redis {

/// Which way one command goes. The sender sets the slot, and keeps the rest for the service, which
/// writes there what it has learned.
struct Route {
  static constexpr std::uint16_t kNoNode = 0xFFFF;

  std::uint16_t slot = 0;            ///< Of all keys of the command (slot.h); 0 without slots.
  std::uint16_t sent_to = kNoNode;   ///< The node that was asked last.
  std::uint16_t redirect = kNoNode;  ///< The node to ask next, and once only, with ASKING.
  std::uint8_t redirects = 0;        ///< How often the command was sent elsewhere.
  /// The deadline is a caller's, sooner than the sender's own: a server that misses it is not slow
  /// if it answers others meanwhile.
  bool callers_deadline = false;
};

/// The action after a command without a result.
enum class RetryAdvice : std::uint8_t {
  kGiveUp,  ///< It failed, or may have run.
  kNow,     ///< It did not run: send it again, along the same Route.
  kLater,   ///< The same, after a moment.
  kApart,   ///< It did not run, since its keys are in two places while they move: ask for each
            ///< alone.
};

/// A server's breaker has changed; or, if `from` is `to`, there is no connection to it, for another
/// reason than before.
struct BreakerChange {
  std::string_view server;  ///< For people.
  Breaker::State from;
  Breaker::State to;
  std::string_view reason;  ///< Why; never empty.
};
using BreakerListener = std::function<void(const BreakerChange&)>;

/// Redis as those see it who have commands about keys: one server, the primary that sentinels know
/// of (both are a Client), or a cluster (ClusterClient). Lives on its loop's thread.
class Service {
 public:
  virtual ~Service() = default;

  /// Whether keys of different slots live in different places, and a command must be about one.
  [[nodiscard]] virtual bool has_slots() const = 0;

  /// Sends one whole command, already encoded; its bytes are copied. The handler is called exactly
  /// once, never inside Send.
  virtual void Send(Route& route, std::string_view command, SteadyTime deadline,
                    Handler handler) = 0;

  /// Returns the action after an error, of the command sent along this route.
  virtual RetryAdvice AdviceFor(const Answer& answer, Route& route) = 0;

  /// From now on; before anything is sent. At the end of a turn, once for what changed in it.
  virtual void OnBreakerChange(BreakerListener listener) = 0;

  /// Connects now instead of at the first call.
  virtual void Connect() = 0;
  /// Ends all connections for good. Handlers of all pending calls are called before it returns.
  virtual void Close() = 0;

  [[nodiscard]] virtual State state() const = 0;
  /// Why there is no connection; empty if there is one, or none was tried.
  [[nodiscard]] virtual const std::string& last_error() const = 0;
  /// From any thread; numbers of one moment may be a little apart.
  [[nodiscard]] virtual Stats StatsApprox() const = 0;
};

/// As the options say.
std::unique_ptr<Service> MakeService(net::Loop& loop, const Options& options);

}  // namespace sluice::redis

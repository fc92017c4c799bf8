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

/// Routing state of one command. The sender sets the slot; the other fields belong to the service,
/// between retries.
struct Route {
  static constexpr std::uint16_t kNoNode = 0xFFFF;

  std::uint16_t slot = 0;  ///< Slot of all keys of the command (slot.h); 0 without a cluster.
  std::uint16_t sent_to = kNoNode;   ///< The node of the last attempt.
  std::uint16_t redirect = kNoNode;  ///< The node for the next attempt only, with ASKING.
  std::uint8_t redirects = 0;        ///< Number of redirections so far.
  /// The deadline is the caller's own, earlier than the sender's: missing it does not count as a
  /// failure of the server if it answers other calls meanwhile.
  bool callers_deadline = false;
};

/// The next step after a failed command.
enum class RetryAdvice : std::uint8_t {
  kGiveUp,  ///< It failed, or may have run.
  kNow,     ///< It did not run: retry with the same Route.
  kLater,   ///< It did not run: retry after a pause.
  kApart,   ///< It did not run, because its keys are being migrated: retry for each key separately.
};

/// A change of a server's breaker; or, if `from` equals `to`, of the reason why there is no
/// connection to it.
struct BreakerChange {
  std::string_view server;  ///< Address for logs.
  Breaker::State from;
  Breaker::State to;
  std::string_view reason;  ///< Never empty.
};
using BreakerListener = std::function<void(const BreakerChange&)>;

/// Asynchronous access to Redis of any topology: one server or the primary of sentinels (Client),
/// or a cluster (ClusterClient). Lives on its loop's thread.
class Service {
 public:
  virtual ~Service() = default;

  /// True for a cluster: all keys of a command must have the same slot.
  [[nodiscard]] virtual bool has_slots() const = 0;

  /// Sends one encoded command; its bytes are copied. The handler is called exactly once, never
  /// inside Send.
  virtual void Send(Route& route, std::string_view command, SteadyTime deadline,
                    Handler handler) = 0;

  /// Returns the action after an error of a command sent with this route.
  virtual RetryAdvice AdviceFor(const Answer& answer, Route& route) = 0;

  /// Sets the observer of breakers. Must be called before Send. Called at the end of a turn, once
  /// per change.
  virtual void OnBreakerChange(BreakerListener listener) = 0;

  /// Connects now instead of at the first call.
  virtual void Connect() = 0;
  /// Closes all connections permanently. Calls the handlers of all pending calls before it returns.
  virtual void Close() = 0;

  [[nodiscard]] virtual State state() const = 0;
  /// The reason why there is no connection; empty if there is one, or none was attempted.
  [[nodiscard]] virtual const std::string& last_error() const = 0;
  /// May be called from any thread; the counters are not one consistent snapshot.
  [[nodiscard]] virtual Stats StatsApprox() const = 0;
};

/// Creates the Service for the topology of the options, which must outlive it.
std::unique_ptr<Service> MakeService(net::Loop& loop, const Options& options);

}  // namespace sluice::redis

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "resp/value.h"

namespace sluice::redis {

/// Whether a command without a reply may have been executed.
enum class Execution : std::uint8_t {
  kNotSent,  ///< Not executed: no byte of it was passed to a connection.
  kUnknown,  ///< Possibly executed; a retry might run it twice.
};

enum class Failure : std::uint8_t {
  kQueueFull,       ///< Too many calls are queued. Not sent.
  kNotConnected,    ///< The deadline passed before there was a connection. Not sent.
  kBreakerOpen,     ///< The server's circuit breaker is open. Not sent.
  kRefused,         ///< Redis refused the login: wrong password, unknown database. Not sent.
  kTimeout,         ///< The deadline passed. May not have been sent if the connection was too slow.
  kConnectionLost,  ///< The connection ended before the reply came.
  kProtocol,        ///< The server sent invalid RESP; the connection was closed.
  kClosed,          ///< The client was closed.
};

struct CallError {
  Failure failure{};
  Execution ran{};
  std::string message{};  ///< For logs; has the server's address, never the password.
};

/// The result of a call: a reply (possibly an error reply of Redis) or an error. Valid until the
/// handler returns.
class Answer {
 public:
  explicit Answer(resp::Value reply) : reply_(reply) {}
  explicit Answer(const CallError& error) : error_(&error) {}

  [[nodiscard]] bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }

  /// Precondition: ok().
  [[nodiscard]] resp::Value reply() const { return reply_; }
  /// Precondition: !ok().
  [[nodiscard]] const CallError& error() const { return *error_; }

 private:
  resp::Value reply_{nullptr, nullptr};
  const CallError* error_ = nullptr;
};

/// When a call times out.
struct CallDeadline {
  // NOLINTNEXTLINE(google-explicit-constructor)
  CallDeadline(SteadyTime its_when, bool is_of_caller = false)
      : when(its_when), is_callers(is_of_caller) {}

  SteadyTime when;
  bool is_callers;  ///< As Route::callers_deadline.
};

/// Called exactly once for each call. Captures of up to two pointers cost no allocation.
using Handler = std::function<void(const Answer&)>;

}  // namespace sluice::redis

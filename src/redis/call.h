#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "resp/value.h"

namespace sluice::redis {

/// Whether a command without a reply may have run.
enum class Execution : std::uint8_t {
  kNotSent,  ///< It did not: no byte of it was given to a connection.
  kUnknown,  ///< It may have; sending it again may run it twice.
};

enum class Failure : std::uint8_t {
  kQueueFull,       ///< Too many calls wait already. Not sent.
  kNotConnected,    ///< The deadline passed before there was a connection. Not sent.
  kBreakerOpen,     ///< The server has failed lately, and is left alone for a moment. Not sent.
  kRefused,         ///< Redis does not let us in: a wrong password, no such database. Not sent.
  kTimeout,         ///< The deadline passed. Not sent if the connection was too slow to take it.
  kConnectionLost,  ///< The connection ended before the reply came.
  kProtocol,        ///< The server sent something that is not RESP; the connection was ended.
  kClosed,          ///< The client was closed.
};

/// A stable name for logs and counters, such as "queue_full".
[[nodiscard]] const char* FailureName(Failure failure) noexcept;

struct CallError {
  Failure failure{};
  Execution execution{};
  std::string message{};  ///< For people; names the server, never the password.
};

/// The result of a call: a reply, which may be an error reply of Redis, or the reason why there is
/// none. Good until the handler returns.
class Answer {
 public:
  explicit Answer(resp::Value reply) : reply_(reply) {}
  explicit Answer(const CallError& error) : error_(&error) {}

  [[nodiscard]] bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }

  /// Only if ok.
  [[nodiscard]] resp::Value reply() const { return reply_; }
  /// Only if not ok.
  [[nodiscard]] const CallError& error() const { return *error_; }

 private:
  resp::Value reply_{nullptr, nullptr};
  const CallError* error_ = nullptr;
};

/// When a call is given up.
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

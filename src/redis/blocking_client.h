#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include <sluice/time.h>

#include "net/loop.h"
#include "redis/call.h"
#include "redis/options.h"
#include "redis/service.h"
#include "resp/value.h"

namespace sluice::redis {

/// A reply (possibly an error reply of Redis) or the error of the call.
class [[nodiscard]] CallResult {
 public:
  explicit CallResult(resp::Reply reply) : content_(std::move(reply)) {}
  explicit CallResult(CallError error) : content_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }
  /// Precondition: ok(). Valid as long as this object.
  [[nodiscard]] resp::Value reply() const { return std::get_if<0>(&content_)->value(); }
  /// Precondition: !ok().
  [[nodiscard]] const CallError& error() const { return *std::get_if<1>(&content_); }

 private:
  std::variant<resp::Reply, CallError> content_;
};

/// A blocking interface to a Service of any topology, with its own loop and thread. Thread-safe:
/// concurrent calls share a write. Must outlive the calls.
class BlockingClient {
 public:
  explicit BlockingClient(const Options& options);
  ~BlockingClient();
  BlockingClient(const BlockingClient&) = delete;
  BlockingClient& operator=(const BlockingClient&) = delete;

  /// Sends one encoded command to the server of `key` (any server of a cluster if it is empty) and
  /// waits for the result, at most for the timeout plus the wake-up time of threads. Follows
  /// redirections, and retries a command if the reply proves that it did not run and the error is
  /// temporary (LOADING, READONLY, CLUSTERDOWN).
  CallResult Call(std::string_view command, Micros timeout, std::string_view key = {});

  /// May be called from any thread; the counters are not one consistent snapshot.
  [[nodiscard]] Stats StatsApprox() const { return service_->StatsApprox(); }
  /// The loop's thread, for further connections of the same owner.
  [[nodiscard]] net::LoopThread& thread() { return thread_; }

 private:
  struct PendingCall;

  void Send(const std::shared_ptr<PendingCall>& call);
  void OnAnswer(const std::shared_ptr<PendingCall>& call, const Answer& answer);

  net::LoopThread thread_;
  std::unique_ptr<Service> service_;  ///< Made and destroyed on the loop's thread.
};

}  // namespace sluice::redis

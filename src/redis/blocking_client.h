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

/// A reply, which may be an error reply of Redis, or the reason why there is none.
class [[nodiscard]] CallResult {
 public:
  explicit CallResult(resp::Reply reply) : content_(std::move(reply)) {}
  explicit CallResult(CallError error) : content_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }
  /// Only if ok; good as long as this is.
  [[nodiscard]] resp::Value reply() const { return std::get_if<0>(&content_)->value(); }
  /// Only if not ok.
  [[nodiscard]] const CallError& error() const { return *std::get_if<1>(&content_); }

 private:
  std::variant<resp::Reply, CallError> content_;
};

/// A Service of any topology with a loop and a thread of its own, for callers that can wait.
/// Thread-safe: what several threads ask at the same time shares a write. Must outlive the calls.
class BlockingClient {
 public:
  explicit BlockingClient(const Options& options);
  ~BlockingClient();
  BlockingClient(const BlockingClient&) = delete;
  BlockingClient& operator=(const BlockingClient&) = delete;

  /// Sends one whole command, already encoded, to the server that has `key` (any server of a
  /// cluster if it is empty). Returns after the timeout at the latest, give or take the time that
  /// threads need to wake up. Until then it follows redirections, and sends a command again if the
  /// reply proves that it did not run and that this may pass (LOADING, READONLY, CLUSTERDOWN).
  CallResult Call(std::string_view command, Micros timeout, std::string_view key = {});

  /// From any thread; numbers of one moment may be a little apart.
  [[nodiscard]] Stats StatsApprox() const { return service_->StatsApprox(); }
  /// The thread of its loop, for further connections of the same owner.
  [[nodiscard]] net::LoopThread& thread() { return thread_; }

 private:
  struct PendingCall;

  void Send(const std::shared_ptr<PendingCall>& call);
  void OnAnswer(const std::shared_ptr<PendingCall>& call, const Answer& answer);

  net::LoopThread thread_;
  std::unique_ptr<Service> service_;  ///< Made and destroyed on the loop's thread.
};

}  // namespace sluice::redis

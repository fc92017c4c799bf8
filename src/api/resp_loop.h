#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "api/host.h"
#include "api/resp_commands.h"
#include "api/throttle.h"
#include "limiter/question.h"
#include "wire/reply_queue.h"

namespace sluice::api {

class RespSession;

class RespLoop;

/// A command's question to the limiter, and where its answer goes.
struct RespQuestion {
  explicit RespQuestion(RespLoop& its_loop) : loop(its_loop) {}

  RespLoop& loop;
  limiter::Question question;
  const RespCommand* command = nullptr;
  RespSession* session = nullptr;  ///< Null: it is gone, and nobody waits for the answer.
  wire::ReplyQueue::Place* place = nullptr;
  std::size_t index = 0;  ///< Among those that the session waits for.
  bool is_large = false;  ///< Not worth keeping for others.
};

/// What the Redis-protocol sessions of one loop share. On that loop's thread only. It must outlive
/// its sessions, and whatever a store has not answered yet.
class RespLoop {
 public:
  explicit RespLoop(Host& host) : host_(host) {}
  RespLoop(const RespLoop&) = delete;
  RespLoop& operator=(const RespLoop&) = delete;

  [[nodiscard]] Host& host() { return host_; }
  [[nodiscard]] ThrottleLimits& throttle_limits() { return throttle_limits_; }

  /// A question about nothing yet. Whoever is done with it gives it back, for the next command.
  [[nodiscard]] std::unique_ptr<RespQuestion> Take();
  void GiveBack(std::unique_ptr<RespQuestion> question);

 private:
  static constexpr std::size_t kMostSpare = 1024;

  Host& host_;
  ThrottleLimits throttle_limits_;
  std::vector<std::unique_ptr<RespQuestion>> spare_;
};

}  // namespace sluice::api

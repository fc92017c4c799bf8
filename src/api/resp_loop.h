#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "api/host.h"
#include "api/resp_commands.h"
#include "api/session.h"
#include "api/throttle.h"
#include "limiter/limiter.h"
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
  wire::ReplyPlace* place = nullptr;
  std::size_t index = 0;  ///< Among those that the session waits for.
  bool is_large = false;  ///< Not worth keeping for others.
};

/// What the Redis-protocol sessions of one loop share. On that loop's thread only. It must outlive
/// its sessions, and whatever a store has not answered yet.
class RespLoop {
 public:
  /// `max_pending`: requests of one session that may wait for a store.
  explicit RespLoop(Host& host, std::size_t max_pending = kUsualMaxPending)
      : host_(host), max_pending_(max_pending) {}
  RespLoop(const RespLoop&) = delete;
  RespLoop& operator=(const RespLoop&) = delete;

  [[nodiscard]] Host& host() { return host_; }
  [[nodiscard]] std::size_t max_pending() const { return max_pending_; }
  [[nodiscard]] ThrottleLimits& throttle_limits() { return throttle_limits_; }
  [[nodiscard]] wire::ReplyPlaces& places() { return places_; }

  /// A question about nothing yet. Whoever is done with it gives it back, for the next command.
  [[nodiscard]] std::unique_ptr<RespQuestion> Take();
  void GiveBack(std::unique_ptr<RespQuestion> question);

  /// A command's arguments with its keys as they may be stored; good until it is asked again.
  [[nodiscard]] RespArguments Shown(const RespCommand& command, RespArguments arguments);

  /// Questions of one session that wait to be asked together. Empty while no session runs.
  struct Batch {
    std::array<std::unique_ptr<RespQuestion>, limiter::Limiter::kMostAtOnce> asked;
    std::size_t size = 0;
  };
  [[nodiscard]] Batch& batch() { return batch_; }
  /// Room for the reply to a command that asks nothing, while those before it are asked.
  [[nodiscard]] std::string& refusal() { return refusal_; }

 private:
  static constexpr std::size_t kMostSpare = 1024;

  Host& host_;
  const std::size_t max_pending_;
  ThrottleLimits throttle_limits_;
  wire::ReplyPlaces places_;
  std::vector<std::unique_ptr<RespQuestion>> spare_;
  Batch batch_;
  std::vector<std::string_view> shown_;
  std::vector<identity::KeyDigest::Room> rooms_;
  std::string refusal_;
};

}  // namespace sluice::api

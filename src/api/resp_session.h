#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/resp_client.h"
#include "api/resp_loop.h"
#include "api/session.h"
#include "wire/command_reader.h"
#include "wire/reply_queue.h"

namespace sluice::api {

/// One client of the Redis protocol. docs/resp.md has the commands.
///
/// Past the loop's `max_pending` questions that a store has not answered, commands are kept and not
/// read; whoever carries the bytes should stop reading from the client then. A client whose
/// commands pile up beyond kMaxBacklog bytes all the same is cut off.
class RespSession final : public Session {
 public:
  static constexpr std::size_t kMaxBacklog = 4U << 20;

  /// `loop` and `carrier` must outlive the session.
  RespSession(RespLoop& loop, SessionHost& carrier, Peer peer);
  ~RespSession() override;
  RespSession(const RespSession&) = delete;
  RespSession& operator=(const RespSession&) = delete;

  void Receive(std::string_view bytes) override;
  [[nodiscard]] bool in_request() const override;
  void Resume() override { RunCommands(); }
  void Drain() override;

 private:
  void RunCommands();
  void RunCommand(RespArguments arguments);
  void Ask(const RespCommand& command, RespArguments arguments);
  void AskAll();
  void Await(std::unique_ptr<RespQuestion> asked);
  [[nodiscard]] bool MayAsk();
  [[nodiscard]] std::string& ReplyNow();
  static void AnsweredLater(limiter::Question& question, void* context);
  void Settle(RespQuestion& asked);
  void GoOn();
  void Refuse(std::string_view error);

  RespLoop& loop_;
  SessionHost& carrier_;
  RespClient client_;
  wire::CommandReader reader_;
  wire::ReplyQueue replies_;
  std::vector<RespQuestion*> waiting_;  ///< For a store; in no order.
  bool draining_ = false;
};

}  // namespace sluice::api

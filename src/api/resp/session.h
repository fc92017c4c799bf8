#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/call_session.h"
#include "api/resp/client.h"
#include "api/resp/loop.h"
#include "wire/command_reader.h"

namespace sluice::api {

/// One client of the Redis protocol. docs/resp.md has the commands.
///
/// Past the loop's `max_pending` checks that a store has not answered, commands are kept and not
/// read; the transport should stop reading from the client then. A client whose
/// commands pile up beyond kMaxBacklog bytes all the same is cut off.
class RespSession final : public CallSession {
 public:
  static constexpr std::size_t kMaxBacklog = 4U << 20;

  /// `loop` and `transport` must outlive the session.
  RespSession(RespLoop& loop, transport::Transport& transport, Peer peer);
  RespSession(const RespSession&) = delete;
  RespSession& operator=(const RespSession&) = delete;

  void Receive(std::string_view bytes) override;
  [[nodiscard]] bool in_request() const override;
  [[nodiscard]] std::size_t held_bytes() const override;
  void Resume() override;
  void Drain() override;

 private:
  void RunCommands();
  void RunCommand(RespArguments arguments);
  void Ask(const RespCommand& command, RespArguments arguments);
  void AwaitWork(const RespCommand& command, RespArguments arguments);
  void WriteReply(CheckCall& call, std::string& out) override;
  void Refuse(std::string_view error);

  RespLoop& loop_;
  RespClient client_;
  wire::CommandReader reader_;
  bool draining_ = false;
  bool awaits_work_ = false;  ///< Of another thread; until then no command is looked at.
  bool began_ = false;        ///< Something has arrived.
};

}  // namespace sluice::api

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/backlog.h"
#include "api/call_session.h"
#include "api/grpc/call.h"
#include "api/grpc/loop.h"
#include "api/grpc/stream.h"
#include "api/server_services.h"
#include "wire/grpc_status.h"
#include "wire/http2_session.h"

namespace sluice::api {

/// One client of gRPC. docs/grpc.md has what it can expect.
///
/// Calls whose client has canceled them still count as pending until the store has answered.
///
/// While kMostOutput of replies wait because the client opens no window, calls wait, too: frames
/// are read on, since they may open it. What calls that are not run hold is bounded as well.
class GrpcSession final : public CallSession, private wire::Http2Handler {
 public:
  /// `loop` and `transport` must outlive the session.
  GrpcSession(GrpcLoop& loop, transport::Transport& transport, Peer peer);
  ~GrpcSession() override;
  GrpcSession(const GrpcSession&) = delete;
  GrpcSession& operator=(const GrpcSession&) = delete;

  void Receive(std::string_view bytes) override;
  [[nodiscard]] bool in_request() const override;
  [[nodiscard]] std::size_t held_bytes() const override;
  void Resume() override;
  void Drain() override;
  void OnTimer(SteadyTime now) override;

  [[nodiscard]] std::size_t open_streams() const { return open_.size(); }

 private:
  // ---- What HTTP/2 tells.
  wire::Http2Stream& OnStream() override;
  void OnHeader(wire::Http2Stream& stream, std::string_view name, std::string_view value) override;
  void OnHeaders(wire::Http2Stream& stream) override;
  void OnData(wire::Http2Stream& stream, std::string_view bytes) override;
  void OnEnd(wire::Http2Stream& stream) override;
  void OnClosed(wire::Http2Stream& stream) override;
  void OnBodySent(wire::Http2Stream& stream) override;
  void OnPong(std::uint64_t number) override;

  // ---- Messages and replies.
  void OnMessage(GrpcStream& stream);
  [[nodiscard]] std::optional<std::string_view> MessageOf(GrpcStream& stream);
  [[nodiscard]] std::optional<Micros> TimeoutFor(const GrpcStream& stream);
  void Ask(GrpcStream& stream, std::string_view message);
  void WriteReply(CheckCall& call, std::string& out) override;
  void Converse(GrpcStream& stream, std::string_view message);
  void Watch(GrpcStream& stream, std::string_view message);
  void Poll(GrpcStream& stream);
  void Begin(GrpcStream& stream, wire::Compressed compressed);
  void Send(GrpcStream& stream, std::string_view message);
  void Reply(GrpcStream& stream, std::string_view message);
  void CheckRole(GrpcStream& stream);
  void Refuse(GrpcStream& stream, wire::GrpcStatus why, std::string_view message);
  void RefuseHttp(GrpcStream& stream, std::string_view status);
  void CountHeld(GrpcStream& stream, std::size_t held);
  void CountBody(GrpcStream& stream, std::size_t held);
  [[nodiscard]] bool HasRoom() const { return held_bodies_ < kMaxOutput; }
  [[nodiscard]] bool HoldsTooMuch() const;
  void WaitForRoom(GrpcStream& stream);
  void RunWaiting();

  // ---- The life of the connection.
  void Read(std::string_view& bytes);
  void ReadBacklog();
  void Pump();
  void Leave();
  void TakeNoMore();
  void Close();
  void CheckStreams(SteadyTime now);
  [[nodiscard]] Micros TimeFor(const GrpcStream& stream) const;
  void CheckAge(SteadyTime now);
  void CheckSilence(SteadyTime now);

  GrpcLoop& loop_;
  const Peer peer_;
  wire::Http2Session http2_;
  std::vector<GrpcStream*> open_;  // In no order.
  Backlog backlog_;
  std::size_t held_ = 0;                       // Of messages that are not run, in all streams.
  std::size_t held_bodies_ = 0;                // Of replies that are not sent, in all streams.
  std::vector<GrpcStream*> waiting_for_room_;  // In the order of their ends; null: gone.

  enum class Leaving : std::uint8_t { kNo, kSaid, kLast };
  Leaving leaving_ = Leaving::kNo;
  std::optional<SteadyTime> left_;   // When that was said, as far as is known.
  SteadyTime now_{};                 // At the last look.
  std::optional<SteadyTime> began_;  // At the first.
  SteadyTime quiet_since_{}, idle_since_{};
  std::optional<SteadyTime> pinged_;
  Micros age_{0};
  bool heard_ = false;
};

}  // namespace sluice::api

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/grpc_call.h"
#include "api/grpc_loop.h"
#include "api/grpc_stream.h"
#include "api/host.h"
#include "api/session.h"
#include "wire/grpc_status.h"
#include "wire/http2_session.h"

namespace sluice::api {

/// One client of gRPC. docs/grpc.md has what it can expect.
///
/// Calls that arrive together are asked together, up to 16 questions at once. Those whose client
/// has taken them back still count as pending until the store has answered.
class GrpcSession final : public Session, private wire::Http2Handler {
 public:
  /// `loop` and `carrier` must outlive the session.
  GrpcSession(GrpcLoop& loop, SessionHost& carrier, Peer peer);
  ~GrpcSession() override;
  GrpcSession(const GrpcSession&) = delete;
  GrpcSession& operator=(const GrpcSession&) = delete;

  void Receive(std::string_view bytes) override;
  [[nodiscard]] bool in_request() const override;
  void Resume() override;
  void Drain() override;
  void LookAtTime(SteadyTime now) override;

  [[nodiscard]] std::size_t open_streams() const { return open_.size(); }

 private:
  // ---- What HTTP/2 tells.
  wire::Http2Stream& OnStream() override;
  void OnHeader(wire::Http2Stream& stream, std::string_view name, std::string_view value) override;
  void OnHeaders(wire::Http2Stream& stream) override;
  void OnData(wire::Http2Stream& stream, std::string_view bytes) override;
  void OnEnd(wire::Http2Stream& stream) override;
  void OnClosed(wire::Http2Stream& stream) override;
  void OnPong(std::uint64_t number) override;

  // ---- Messages and replies.
  void OnMessage(GrpcStream& stream);
  [[nodiscard]] std::optional<std::string_view> MessageOf(GrpcStream& stream);
  [[nodiscard]] std::optional<Micros> PatienceFor(const GrpcStream& stream);
  void Ask(GrpcStream& stream, std::string_view message);
  void AskAll();
  [[nodiscard]] static bool TakeAnswer(GrpcCall::Part& part);
  static void AnsweredLater(limiter::Question& question, void* context);
  void Await(GrpcCall& call);
  void Finish(GrpcCall& call);
  void Converse(GrpcStream& stream, std::string_view message);
  void Watch(GrpcStream& stream, std::string_view message);
  void Look(GrpcStream& stream);
  void Begin(GrpcStream& stream, wire::Compressed compressed);
  void Send(GrpcStream& stream, std::string_view message);
  void Reply(GrpcStream& stream, std::string_view message);
  void Refuse(GrpcStream& stream, wire::GrpcStatus why, std::string_view message);
  void RefuseHttp(GrpcStream& stream, std::string_view status);
  void CountHeld(GrpcStream& stream, std::size_t held);

  // ---- The life of the connection.
  void Pump();
  void Leave();
  void TakeNoMore();
  void Close();
  void LookAtStreams(SteadyTime now);
  [[nodiscard]] Micros TimeFor(const GrpcStream& stream) const;
  void LookAtAge(SteadyTime now);
  void LookAtSilence(SteadyTime now);

  GrpcLoop& loop_;
  SessionHost& carrier_;
  const Peer peer_;
  wire::Http2Session http2_;
  std::vector<GrpcStream*> open_;   // In no order.
  std::vector<GrpcCall*> waiting_;  // For a store; in no order.
  std::size_t held_ = 0;            // Of messages that are not whole, in all streams.

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

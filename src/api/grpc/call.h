#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "api/check_call.h"
#include "api/server_services.h"
#include "wire/grpc_status.h"

namespace sluice::api {

class GrpcLoop;
struct GrpcStream;

/// State that a service keeps with a call from its message to its reply. It stays when the call
/// is used again, so that its memory need not be asked for again.
class GrpcScratch {
 public:
  virtual ~GrpcScratch() = default;
  /// Forgets everything but the memory.
  virtual void Clear() = 0;
  /// Too large to be kept for others.
  [[nodiscard]] virtual bool is_large() const = 0;
};

/// The call that one message makes.
struct GrpcCall final : CheckCall {
  explicit GrpcCall(GrpcLoop& its_loop) : loop(its_loop) {}

  /// Adds a check that has the timeout of its caller and the attributes of the client's
  /// certificate.
  Part& Add();
  void Clear() override;
  void GiveBack() override;
  /// Ends the call without a reply.
  void Refuse(wire::GrpcStatus why, std::string_view message);
  [[nodiscard]] bool is_large() const override {
    return CheckCall::is_large() || reply.capacity() > kMaxPooledReply ||
           (scratch != nullptr && scratch->is_large());
  }

  GrpcLoop& loop;
  const Peer* peer = nullptr;  ///< The client. Valid only while `ask` runs.
  TraceContext trace{};        ///< The caller's. Every check begins with it.
  Micros timeout{0};           ///< How long a store may take. Every check begins with it.

  /// Runs when all checks are decided, to write `reply` or refuse. If there is one check only,
  /// what its decision points to is still there.
  void (*answer)(GrpcCall& call) = nullptr;
  std::string reply;                                ///< The message to send, without its frame.
  wire::GrpcStatus status = wire::GrpcStatus::kOk;  ///< Any other: no reply is sent.
  std::string status_message;
  std::string subject;  ///< Of a watch: what it is about.
  std::unique_ptr<GrpcScratch> scratch;
  GrpcStream* stream = nullptr;  ///< Null: its client has canceled it, or the session is gone.

 private:
  static constexpr std::size_t kMaxPooledReply = std::size_t{16} << 10;
};

[[nodiscard]] inline GrpcCall& GrpcCallOf(CheckCall::Part& part) {
  return static_cast<GrpcCall&>(part.call);
}

}  // namespace sluice::api

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <sluice/time.h>

#include "api/host.h"
#include "limiter/question.h"
#include "wire/grpc_status.h"

namespace sluice::api {

class GrpcLoop;
class GrpcSession;
struct GrpcStream;

/// What a service wants to keep with a call from its message to its answer. It stays when the call
/// is used again, so that its memory need not be asked for again.
class GrpcScratch {
 public:
  virtual ~GrpcScratch() = default;
  /// Too large to be kept for others.
  [[nodiscard]] virtual bool is_large() const = 0;
};

/// What one message asks of the limiter, and all that its answer will need: it may come when the
/// message, or even its session, is gone. Made once and used for many messages.
struct GrpcCall {
  /// One question. Most calls have one.
  struct Part {
    explicit Part(GrpcCall& its_call) : call(its_call) {}

    GrpcCall& call;
    limiter::Question question;
    std::string text;  ///< Of several: what this one adds to the answer.
  };

  explicit GrpcCall(GrpcLoop& its_loop) : loop(its_loop) {}
  GrpcCall(const GrpcCall&) = delete;
  GrpcCall& operator=(const GrpcCall&) = delete;

  /// The next question: it asks nothing yet, waits no longer than the caller does, and has the
  /// attributes of the client's certificate.
  Part& Add();
  /// Forgets everything but the memory.
  void Clear();
  /// Ends the call without a reply.
  void Refuse(wire::GrpcStatus why, std::string_view message);

  [[nodiscard]] std::size_t size() const { return used_; }
  [[nodiscard]] Part& part(std::size_t i) { return *parts_[i]; }
  [[nodiscard]] const Part& part(std::size_t i) const { return *parts_[i]; }
  /// Too large to be kept for others.
  [[nodiscard]] bool is_large() const {
    return parts_.size() > kMostKept || reply.capacity() > kMostReplyKept ||
           (scratch != nullptr && scratch->is_large());
  }

  GrpcLoop& loop;
  const Peer* peer = nullptr;  ///< Who asks. Good while `ask` runs, and no longer.
  Micros patience{0};          ///< How long a store may take. Every question begins with it.

  /// Run when all questions are answered, to write `reply` or refuse. If there is one question
  /// only, what its answer points to is still there.
  void (*answer)(GrpcCall& call) = nullptr;
  /// Of several: run for each question as soon as it is answered, to write its `text`.
  void (*take_note)(Part& part) = nullptr;
  std::string reply;                                ///< The message to send, without its frame.
  wire::GrpcStatus status = wire::GrpcStatus::kOk;  ///< Any other: no reply is sent.
  std::string status_message;
  std::string subject;                ///< Of a watch: what it is about.
  std::shared_ptr<const void> holds;  ///< Whatever must live until the call is answered.
  std::unique_ptr<GrpcScratch> scratch;

  // ---- Of the session.
  GrpcSession* session = nullptr;  ///< Null: it is gone, and nobody waits for the answer.
  GrpcStream* stream = nullptr;    ///< Null: likewise.
  std::size_t index = 0;           ///< Among those that the session waits for.
  std::size_t unanswered = 0;

 private:
  static constexpr std::size_t kMostKept = 16;
  static constexpr std::size_t kMostReplyKept = std::size_t{16} << 10;

  std::vector<std::unique_ptr<Part>> parts_;
  std::size_t used_ = 0;
};

}  // namespace sluice::api

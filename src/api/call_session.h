#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "api/check_call.h"
#include "api/server_services.h"
#include "limiter/limiter.h"
#include "transport/session.h"
#include "wire/reply_queue.h"

namespace sluice::api {

/// State shared by the sessions of one loop and protocol: the checks of the running session, which
/// will be decided together. Empty while none runs.
struct CheckBatch {
  CheckBatch(ServerServices& its_services, Protocol its_protocol)
      : services(its_services), protocol(its_protocol) {}

  ServerServices& services;
  const Protocol protocol;
  wire::ReplyPlaces places;  ///< For replies that wait.
  std::array<CheckCall::Part*, limiter::Limiter::kMostAtOnce> parts;
  std::size_t size = 0;
};

/// A session whose requests are calls to the limiter. The checks of requests that arrive together
/// are decided in batches; a call that its store answers later waits here. The session may be
/// destroyed while calls wait: these end without a reply.
class CallSession : public transport::Session {
 public:
  ~CallSession() override;
  CallSession(const CallSession&) = delete;
  CallSession& operator=(const CallSession&) = delete;

 protected:
  enum class ReplyOrder : std::uint8_t {
    kRequests,  ///< Replies leave in the order of their requests.
    kAny,       ///< Replies leave when they are known.
  };

  /// `transport` must outlive the session; `batch` also the calls that wait when it is destroyed.
  CallSession(transport::Transport& transport, CheckBatch& batch, ReplyOrder order);

  /// Queues the checks of a call, which is given back once they are decided. DecideBatch must run
  /// before the session returns to its loop, and before anything that could see the checks undone.
  void Submit(CheckCall& call);
  void DecideBatch();
  [[nodiscard]] std::size_t batched() const { return batch_.size; }
  /// Whether fewer than `max_pending` calls wait, whatever becomes of the batch.
  [[nodiscard]] bool HasRoomForCall(std::size_t max_pending);

  /// Where a reply goes that needs no check: behind those of the batch.
  [[nodiscard]] std::string& ReplyNow() {
    DecideBatch();
    return replies_.Now();
  }
  [[nodiscard]] std::size_t held_replies() const { return replies_.held(); }

  /// Makes a call wait: it keeps its place among the replies.
  void Await(CheckCall& call);
  /// Writes the reply of a call, and ends its wait. The call stays with the caller.
  void Finish(CheckCall& call);
  /// Goes on with what has arrived, after a call that waited. The session may be gone afterwards.
  void GoOn();

  /// Writes the reply of a call whose checks are decided; where replies have no order, `out` is
  /// not used.
  virtual void WriteReply(CheckCall& call, std::string& out) = 0;

  [[nodiscard]] ServerServices& services() { return batch_.services; }
  [[nodiscard]] transport::Transport& transport() { return transport_; }

 private:
  [[nodiscard]] static bool TakeDecision(CheckCall::Part& part);
  static void DecidedLater(limiter::CheckRequest& check, void* context);

  transport::Transport& transport_;
  CheckBatch& batch_;
  const ReplyOrder order_;
  wire::ReplyQueue replies_;
  CheckCall* waiting_ = nullptr;  ///< The last of those that wait.
};

}  // namespace sluice::api

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "net/loop.h"
#include "net/stream.h"
#include "net/timer.h"
#include "redis/backoff.h"
#include "redis/breaker.h"
#include "redis/call_queue.h"
#include "redis/client.h"
#include "redis/handshake.h"
#include "redis/primary_finder.h"
#include "resp/decoder.h"

namespace sluice::redis {

/// The implementation of Client: combines the queue of calls, the handshake and the stream.
class Client::Connection final : private net::StreamEvents {
 public:
  Connection(net::Loop& loop, Options options);
  ~Connection();

  /// A command that is sent directly before another one, or not at all.
  enum class Before : std::uint8_t { kNothing, kAsking };

  void Send(std::string_view command, const CallDeadline& deadline, Handler handler,
            Before before = Before::kNothing);
  void Connect();
  void Close();
  void OnBreakerChange(BreakerListener listener) { on_breaker_change_ = std::move(listener); }
  void OnPush(std::function<void(resp::Value)> handler) { on_push_ = std::move(handler); }
  void Subscribe(std::span<const std::string> channels);
  /// Leaves a server that became a replica; with sentinels, finds the new primary.
  void LeaveReplica();

  [[nodiscard]] State state() const { return state_.load(std::memory_order_relaxed); }
  [[nodiscard]] resp::Protocol protocol() const { return protocol_; }
  [[nodiscard]] const std::string& last_error() const { return last_error_; }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] Stats StatsApprox() const;

 private:
  /// A rejected call. Its handler runs at the end of the turn, never inside Send.
  struct Rejected {
    Handler handler;
    CallError error;
  };
  void OnConnected() override;
  void OnData(std::string_view bytes) override;
  void OnWritten() override { turn_end_.Schedule(); }
  void OnEnded(const std::string& reason) override;

  void StartAttempt();
  void OnFound(const FoundPrimary& found);
  void OnHint();
  void Open(const ServerAddress& server);
  void Leave(std::string reason);
  void OnReply(resp::Value reply);
  void OnHandshakeReply(resp::Value reply);
  void Drop(Failure failure, const std::string& reason);

  void FinishTurn();
  void WritePending();
  void ExpireCalls();
  void SetAlarm();
  void CheckStall();
  [[nodiscard]] SteadyTime StallsAt();
  [[nodiscard]] std::optional<CallError> FindObstacle(std::size_t command_bytes);
  void ReportReply(resp::Value reply, SteadyTime pushed);
  void ReportExpired(std::span<const CallQueue::Ended> expired);
  void ReportLost(std::size_t calls);
  void ReportBreaker();
  [[nodiscard]] std::string ReasonOf(Breaker::State now) const;
  void ProbeIfIdle();
  void RunRejected();
  static void Finish(std::span<CallQueue::Ended> ended, Failure failure, std::string message);

  // Relaxed: only the loop's thread writes it, and nothing else is read through it.
  void SetState(State state) { state_.store(state, std::memory_order_relaxed); }

  net::Loop& loop_;
  const Options options_;
  std::string address_;                    ///< For messages.
  ServerAddress server_;                   ///< Peer of the stream, unless it is a Unix socket.
  std::unique_ptr<PrimaryFinder> finder_;  ///< Only with sentinels.

  std::atomic<State> state_{State::kIdle};
  resp::Protocol protocol_ = resp::Protocol::kResp3;
  bool wanted_ = false;   ///< A connection is wanted.
  bool refused_ = false;  ///< The last attempt failed at the login.
  std::string leaving_;   ///< Not empty: the reason why nothing more is sent on this connection.
  std::string last_error_;
  SteadyTime attempt_began_{};
  SteadyTime last_heard_{};  ///< When the server last sent something, or had no call to answer.
  SteadyTime last_data_{};   ///< When the server last sent something.

  std::optional<net::Stream> stream_;
  resp::Decoder decoder_;
  std::optional<Handshake> handshake_;
  CallQueue queue_;
  std::vector<Rejected> rejected_;
  std::string out_;  ///< Written before the queue.
  std::function<void(resp::Value)> on_push_;
  std::string subscribe_;  ///< The SUBSCRIBE command; empty if not a subscriber.

  Breaker breaker_;
  /// Last reported state; readable from other threads.
  std::atomic<Breaker::State> reported_breaker_{Breaker::State::kClosed};
  BreakerListener on_breaker_change_;
  std::string last_failure_;  ///< Last failure of a call on an established connection.
  SteadyTime last_asked_{};   ///< Time of the last call.

  Backoff backoff_;
  net::Timer alarm_;    ///< For the earliest deadline of a call, or a stalled server.
  net::Timer timeout_;  ///< For the handshake.
  net::Timer retry_;    ///< For the next attempt.
  net::Timer try_;      ///< Probes a breaker without calls.
  net::TurnEnd turn_end_;
  Stats stats_;  // Without state, connections and breakers: see StatsApprox.
};

}  // namespace sluice::redis

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "store/store_queue.h"
#include "transport/connection_counters.h"
#include "transport/turn_share.h"

namespace sluice::transport {

/// Default for the requests of one session that may wait for a store.
inline constexpr std::size_t kDefaultMaxPending = 1024;

/// Carries the bytes of a session.
class Transport {
 public:
  /// Called when there is output to write, or the session wants to close, outside of Receive and
  /// Drain; for example when a store answers later.
  virtual void OutputReady() = 0;

  /// Counts a request that exceeded a limit checked by the session.
  virtual void CountExceeded(ResourceBound /*bound*/) {}
  /// Called before the session runs requests: renews its share in a new turn.
  virtual void BeginWork() {}
  [[nodiscard]] TurnShare& share() { return share_; }

 protected:
  ~Transport() = default;

  TurnShare share_;
};

/// The reason why a session does not run received requests.
enum class PauseReason : std::uint8_t {
  kNone,
  kOutput,  ///< kMaxOutput is pending: resumes once it is written.
  kTurn,    ///< Its share of this turn is used up: resumes in the next turn.
  kStore,   ///< Its share of the store's queue is used up: resumes when calls are done.
  kWork,    ///< Waits for slow work of the server; resumes by itself.
};

/// The protocol state of one connection without its socket: bytes in, bytes out. Lives on its
/// loop's thread. May be destroyed at any time, also while it waits for a store.
class Session {
 public:
  /// `transport` and `queue` must outlive the session. Null: without limits per turn and per store.
  explicit Session(Transport* transport = nullptr, store::StoreQueue* queue = nullptr)
      : transport_or_null_(transport), queue_(queue) {}
  virtual ~Session() {
    if (queue_ != nullptr && calls_ > 0) queue_->RemoveConnection();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Pending output above which no further request runs: a small request may have a large response.
  static constexpr std::size_t kMaxOutput = std::size_t{1} << 20;

  /// Consumes all of `bytes`, which are not retained. Responses that are ready are appended to
  /// `output`, in the order of the requests; other requests are buffered (see pause).
  virtual void Receive(std::string_view bytes) = 0;

  /// Bytes to be written; removed by the transport.
  [[nodiscard]] std::string& output() { return output_; }

  /// True if no more input is read; the connection is closed once `output` is written and nothing
  /// is pending.
  [[nodiscard]] bool closing() const { return closing_; }

  /// The reason why received requests are not run. Unless kNone, the transport must not read;
  /// Resume continues.
  [[nodiscard]] PauseReason pause() const { return pause_; }
  /// True if it waits for its own output or work, not for a share.
  [[nodiscard]] bool held_back() const {
    return pause_ == PauseReason::kOutput || pause_ == PauseReason::kWork;
  }
  virtual void Resume() {}

  /// Returns whether the store can answer another call of this session in time. If not, the
  /// transport must not read.
  [[nodiscard]] bool MayAskStore() const { return queue_ == nullptr || queue_->MayAsk(calls_); }

  /// Memory for input, requests under way and output, in bytes.
  [[nodiscard]] virtual std::size_t held_bytes() const { return output_.capacity(); }

  /// Requests that wait for a store.
  [[nodiscard]] std::size_t pending() const { return pending_; }

  /// True while a request is incomplete: the request timeout applies.
  [[nodiscard]] virtual bool in_request() const = 0;

  /// On a reserved connection: true if it served an operator's request.
  [[nodiscard]] virtual bool served_operator() const { return false; }

  /// Starts the shutdown: answers received requests, then closes.
  virtual void Drain() = 0;

  /// Called about once a second. May change `output` and `closing`.
  virtual void OnTimer(SteadyTime /*now*/) {}

 protected:
  /// Count calls to a store; one request may make many.
  void CallsBegan(std::size_t count) {
    if (calls_ == 0 && count > 0 && queue_ != nullptr) queue_->AddConnection();
    calls_ += count;
  }
  void CallsEnded(std::size_t count) {
    calls_ -= count;
    if (calls_ == 0 && count > 0 && queue_ != nullptr) queue_->RemoveConnection();
  }
  [[nodiscard]] std::size_t calls_under_way() const { return calls_; }

  /// Must be called before requests are run.
  void BeginWork() {
    pause_ = PauseReason::kNone;
    if (transport_or_null_ != nullptr) transport_or_null_->BeginWork();
  }
  /// Returns whether the next request may run; if not, sets pause(). `to_ask` is the number of
  /// calls that will be submitted anyway.
  [[nodiscard]] bool MayRun(std::size_t to_ask = 0) {
    if (queue_ != nullptr && !queue_->MayAsk(calls_ + to_ask)) {
      pause_ = PauseReason::kStore;
    } else if (transport_or_null_ != nullptr && !transport_or_null_->share().Take()) {
      pause_ = PauseReason::kTurn;
    }
    return pause_ == PauseReason::kNone;
  }

  std::string output_;
  bool closing_ = false;
  PauseReason pause_ = PauseReason::kNone;
  std::size_t pending_ = 0;

 private:
  Transport* const transport_or_null_;
  store::StoreQueue* const queue_;
  std::size_t calls_ = 0;
};

}  // namespace sluice::transport

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

/// Requests of one session that may wait for a store, unless something else is configured.
inline constexpr std::size_t kDefaultMaxPending = 1024;

/// Carries a session's bytes.
class Transport {
 public:
  /// There is output to write, or the session wants to end: called whenever that happens outside of
  /// Receive and Drain, as when a store answers later.
  virtual void OutputReady() = 0;

  /// A request exceeded a limit that the session checks.
  virtual void CountExceeded(ResourceBound /*bound*/) {}
  /// The session begins to work: renews its share if this is another turn.
  virtual void BeginWork() {}
  [[nodiscard]] TurnShare& share() { return share_; }

 protected:
  ~Transport() = default;

  TurnShare share_;
};

/// Why a session does not run requests that have arrived.
enum class PauseReason : std::uint8_t {
  kNone,
  kOutput,  ///< There is kMaxOutput to write: it goes on once that is written.
  kTurn,    ///< Its share of this turn is used: it goes on in the next one.
  kStore,   ///< Its share of the store's queue is used: it goes on when calls have been answered.
  kWork,    ///< It waits for slow work of the server, and goes on by itself.
};

/// One connection's conversation without its socket: bytes in, bytes out. Lives on its loop's
/// thread. It may be destroyed at any time, also while it waits for a store.
class Session {
 public:
  /// `transport` and `queue` must outlive the session. Null: it shares neither turns nor a store.
  explicit Session(Transport* transport = nullptr, store::StoreQueue* queue = nullptr)
      : transport_or_null_(transport), queue_(queue) {}
  virtual ~Session() {
    if (queue_ != nullptr && calls_ > 0) queue_->RemoveConnection();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// With so much to write, no further request is answered: a small one may have a large answer.
  static constexpr std::size_t kMaxOutput = std::size_t{1} << 20;

  /// Takes all of `bytes`, which are good until it returns. Whatever can be answered now is in
  /// `output` then, in the order of the requests; the rest is kept as pause() says.
  virtual void Receive(std::string_view bytes) = 0;

  /// Bytes to be written; the writer removes them.
  [[nodiscard]] std::string& output() { return output_; }

  /// Nothing more is read; the connection is closed once `output` is written and nothing is
  /// pending.
  [[nodiscard]] bool closing() const { return closing_; }

  /// Why requests that have arrived are not run, if there are any. Nothing should be read then;
  /// Resume goes on with them.
  [[nodiscard]] PauseReason pause() const { return pause_; }
  /// Until its output is written and its work is done, rather than by a share of something.
  [[nodiscard]] bool held_back() const {
    return pause_ == PauseReason::kOutput || pause_ == PauseReason::kWork;
  }
  virtual void Resume() {}

  /// Whether the store can answer another call of this session in time. If not, nothing should be
  /// read.
  [[nodiscard]] bool MayAskStore() const { return queue_ == nullptr || queue_->MayAsk(calls_); }

  /// Memory for what has arrived, what is under way and what is to be sent, in bytes.
  [[nodiscard]] virtual std::size_t held_bytes() const { return output_.capacity(); }

  /// Requests that wait for a store.
  [[nodiscard]] std::size_t pending() const { return pending_; }

  /// Whether a request has begun and not ended: a slow client here is slow on purpose.
  [[nodiscard]] virtual bool in_request() const = 0;

  /// On a connection beyond the server's bounds: whether it was asked for what such are kept for.
  [[nodiscard]] virtual bool served_operator() const { return false; }

  /// The server is about to end: answer what has been asked and close.
  virtual void Drain() = 0;

  /// Run now and then, about once a second. Whatever comes of it is in `output` or `closing`.
  virtual void OnTimer(SteadyTime /*now*/) {}

 protected:
  /// Calls to a store: one request may have many.
  void CallsBegan(std::size_t count) {
    if (calls_ == 0 && count > 0 && queue_ != nullptr) queue_->AddConnection();
    calls_ += count;
  }
  void CallsEnded(std::size_t count) {
    calls_ -= count;
    if (calls_ == 0 && count > 0 && queue_ != nullptr) queue_->RemoveConnection();
  }
  [[nodiscard]] std::size_t calls_under_way() const { return calls_; }

  /// Before requests are run.
  void BeginWork() {
    pause_ = PauseReason::kNone;
    if (transport_or_null_ != nullptr) transport_or_null_->BeginWork();
  }
  /// Whether the next request that has arrived may be run; else pause() says why not. `to_ask`:
  /// calls that the store will be asked in any case.
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

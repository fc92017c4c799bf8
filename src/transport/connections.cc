#include "transport/connections.h"

#include <algorithm>
#include <utility>

#include "transport/connection.h"

namespace sluice::transport {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr Micros kLongestSweep = std::chrono::seconds(1);
constexpr Micros kShortestSweep = std::chrono::milliseconds(5);
// Between two looks whether those that wait may go on.
constexpr Micros kWait = std::chrono::milliseconds(1);
// What a connection gets of a turn however many have more to do.
constexpr Micros kLeastTurnTime = std::chrono::microseconds(200);
constexpr Micros kDrainSweep = std::chrono::milliseconds(100);
// Of a turn, for TLS handshakes.
constexpr Micros kHandshakeShare = std::chrono::milliseconds(2);
// When an address that had no budget left is looked at again.
constexpr Micros kHandshakeRetry = std::chrono::milliseconds(10);

// A limit is overrun by a quarter at most, but for very short ones; lingering by its own length.
Micros SweepIntervalFor(const ConnectionLimits& limits) {
  Micros interval = kLongestSweep;
  const auto keep = [&](Micros wanted) {
    if (wanted > Micros{0}) interval = std::min(interval, wanted);
  };
  keep(limits.idle_timeout / 4);
  keep(limits.request_timeout / 4);
  keep(limits.write_timeout / 4);
  keep(limits.linger);
  keep(limits.check_interval);
  return std::max(interval, kShortestSweep);
}

}  // namespace

Connections::Connections(net::Loop& loop, Admission& admission, MemoryBudget& memory,
                         const ConnectionLimits& limits, const identity::TrustedProxies* proxies,
                         std::string_view refusal, MakeSession make_session)
    : loop_(loop),
      admission_(admission),
      limits_(limits),
      memory_(memory),
      proxies_(proxies),
      refusal_(refusal),
      make_session_(std::move(make_session)),
      sweep_interval_(SweepIntervalFor(limits)),
      read_buffer_(kReadBytes),
      handshakes_(admission.handshakes(), counters_.tls.delayed),
      handshake_retry_(loop, [this] { RetryHandshakes(); }),
      turn_end_(loop, [this] { FinishTurn(); }),
      sweep_(loop, [this] { Sweep(); }),
      let_go_on_(loop, [this] { LetGoOn(); }),
      turn_time_(limits.turn_time) {
  // A posted relief may run after this object is gone, on the same thread: hence the weak pointer.
  const auto self = std::make_shared<Connections*>(this);
  relief_ = memory_.Enlist([&loop, weak = std::weak_ptr(self)] {
    loop.Post([weak] {
      if (const auto connections = weak.lock()) (*connections)->CloseLargest();
    });
  });
  alive_ = self;
}

Connections::~Connections() {
  relief_.reset();
  for (const auto& connection : connections_) connection->Close(nullptr);
  DestroyBuried();
}

void Connections::Adopt(net::Fd socket, const net::PeerAddress& peer,
                        std::shared_ptr<const net::TlsContext> tls,
                        std::optional<Refusal> refusal) {
  counters_.accepted.Add();
  if (refusal) MakeRoomInReserve(peer);
  std::unique_ptr<net::TlsChannel> channel;
  if (tls) {
    plain_buffer_.resize(kReadBytes + net::TlsChannel::kMaxBuffered);
    channel = std::make_unique<net::TlsChannel>(std::move(tls));
  }
  connections_.push_back(
      std::make_unique<Connection>(*this, std::move(socket), peer, std::move(channel), refusal));
  connections_.back()->position_ = connections_.size() - 1;
  if (refusal) reserved_.push_back(connections_.back().get());
  if (connections_.size() == 1) ScheduleSweep();
  if (draining_) connections_.back()->Drain();
}

void Connections::Drain(SteadyTime deadline, std::function<void()> on_empty) {
  draining_ = true;
  drain_deadline_ = deadline;
  on_empty_ = std::move(on_empty);
  for (const auto& connection : connections_) connection->Drain();
  ScheduleSweep();
  turn_end_.Schedule();
}

void Connections::WriteAtTurnEnd(Connection& connection) {
  if (!connection.Enqueue(Connection::kToWrite)) return;
  to_write_.push_back(&connection);
  turn_end_.Schedule();
}

void Connections::GoOnNextTurn(Connection& connection) {
  if (!connection.Enqueue(Connection::kToRead)) return;
  to_read_.push_back(&connection);
  turn_end_.Schedule();
}

void Connections::GoOnLater(Connection& connection) {
  if (!connection.Enqueue(Connection::kWaiting)) return;
  waiting_.push_back(&connection);
  if (waiting_.size() == 1) let_go_on_.Set(loop_.Now() + kWait);
}

// Those that came first go on first.
void Connections::LetGoOn() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    Connection& connection = *waiting_[i];
    if (connection.MayGoOn()) {
      connection.Dequeue(Connection::kWaiting);
      if (!connection.closed()) GoOnNextTurn(connection);
    } else {
      waiting_[kept++] = &connection;
    }
  }
  waiting_.resize(kept);
  if (!waiting_.empty()) let_go_on_.Set(loop_.Now() + kWait);
}

// Those of this loop that are among the largest of all.
void Connections::CloseLargest() {
  std::vector<Connection*> largest;
  while (memory_.is_exceeded()) {
    const std::size_t at_least = std::max<std::size_t>(memory_.LargestHolders(), 1);
    largest.clear();
    for (const auto& connection : connections_) {
      if (connection->held_ >= at_least) largest.push_back(connection.get());
    }
    if (largest.empty()) return memory_.CallForRelief(loop_.Now());  // They are elsewhere.
    std::sort(largest.begin(), largest.end(),
              [](const Connection* a, const Connection* b) { return a->held_ > b->held_; });
    for (Connection* const connection : largest) {
      if (!memory_.is_exceeded()) return;
      connection->Close(&counters_.bounds_exceeded[ResourceBound::kMemory]);
    }
  }
}

void Connections::Bury(Connection& connection) {
  buried_.push_back(&connection);
  turn_end_.Schedule();
}

void Connections::FinishTurn() {
  // Since the last turn's end: connections added below are for the next one.
  scratch_.swap(to_read_);
  for (Connection* const connection : scratch_) {
    connection->Dequeue(Connection::kToRead);
    if (!connection->closed()) connection->GoOn();
  }
  scratch_.clear();
  RunHandshakes();
  scratch_.swap(to_write_);
  for (Connection* const connection : scratch_) {
    connection->Dequeue(Connection::kToWrite);
    connection->Write();
  }
  scratch_.clear();
  const auto busy = static_cast<std::int64_t>(std::max<std::size_t>(to_read_.size(), 1));
  turn_time_ = std::clamp(limits_.turn_time_of_all / busy,
                          std::min(kLeastTurnTime, limits_.turn_time), limits_.turn_time);
  if (memory_.is_exceeded()) CloseLargest();
  DestroyBuried();
  if (draining_ && connections_.empty() && on_empty_) std::exchange(on_empty_, nullptr)();
}

void Connections::QueueHandshake(Connection& connection) {
  handshakes_.Add(*connection.handshake_, loop_.Now());
  turn_end_.Schedule();
}

// A share of the turn: the others on this loop wait no longer, however many handshakes there are.
void Connections::RunHandshakes() {
  if (!handshakes_.has_ready() && !handshakes_.has_parked()) return;
  const SteadyTime end = SteadyClock::Now() + kHandshakeShare;
  while (HandshakeQueue::Entry* const next = handshakes_.Next(loop_.Now())) {
    next->connection->RunHandshake();
    if (SteadyClock::Now() >= end) break;
  }
  if (handshakes_.has_ready()) {
    turn_end_.Schedule();
  } else if (handshakes_.has_parked() && !std::exchange(retries_handshakes_, true)) {
    handshake_retry_.Set(loop_.Now() + kHandshakeRetry);
  }
}

void Connections::RetryHandshakes() {
  retries_handshakes_ = false;
  handshakes_.Retry();
  turn_end_.Schedule();
}

void Connections::DestroyBuried() {
  if (buried_.empty()) return;
  // Drops references to connections that are about to be destroyed.
  std::erase_if(to_write_, [](const Connection* c) { return c->closed(); });
  std::erase_if(to_read_, [](const Connection* c) { return c->closed(); });
  std::erase_if(waiting_, [](const Connection* c) { return c->closed(); });
  for (Connection* const connection : buried_) {
    counters_.closed.Add();
    if (connection->is_reserved()) {
      std::erase(reserved_, connection);
      admission_.LeaveReserve();
    } else {
      admission_.Leave(connection->facts_.peer);
    }
    const std::size_t position = connection->position_;
    std::swap(connections_[position], connections_.back());
    connections_[position]->position_ = position;
    connections_.pop_back();
  }
  buried_.clear();
  if (connections_.empty()) sweep_.Cancel();
}

void Connections::Sweep() {
  const SteadyTime now = loop_.Now();
  const bool cut = draining_ && now >= drain_deadline_;
  crowded_ = admission_.is_crowded();
  for (const auto& connection : connections_) {
    if (cut) {
      connection->Close(&counters_.cut);
    } else {
      connection->CheckTime(now);
      if (draining_) connection->Drain();
    }
  }
  if (memory_.is_exceeded()) CloseLargest();
  ScheduleSweep();
}

void Connections::ScheduleSweep() {
  Micros interval = sweep_interval_;
  if (draining_) {
    const Micros left = drain_deadline_ - loop_.Now();
    interval = std::max(std::min({interval, kDrainSweep, left}), kShortestSweep);
  }
  sweep_.Set(loop_.Now() + interval);
}

}  // namespace sluice::transport

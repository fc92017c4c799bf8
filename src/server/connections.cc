#include "server/connections.h"

#include <algorithm>
#include <utility>

#include "server/connection.h"

namespace sluice::server {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr Micros kLongestSweep = std::chrono::seconds(1);
constexpr Micros kShortestSweep = std::chrono::milliseconds(5);
constexpr Micros kDrainSweep = std::chrono::milliseconds(100);

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
  keep(limits.look);
  return std::max(interval, kShortestSweep);
}

}  // namespace

Connections::Connections(net::Loop& loop, Admission& admission, const ConnectionLimits& limits,
                         const identity::TrustedProxies* proxies, MakeSession make_session)
    : loop_(loop),
      admission_(admission),
      limits_(limits),
      proxies_(proxies),
      make_session_(std::move(make_session)),
      sweep_interval_(SweepIntervalFor(limits)),
      read_buffer_(kReadBytes),
      turn_end_(loop, [this] { FinishTurn(); }),
      sweep_(loop, [this] { Sweep(); }) {}

Connections::~Connections() {
  for (const auto& connection : connections_) connection->Close(nullptr);
  DestroyBuried();
}

void Connections::Adopt(net::Fd socket, const net::PeerAddress& peer,
                        std::shared_ptr<const net::TlsContext> tls) {
  counters_.accepted.Add();
  std::unique_ptr<net::TlsChannel> channel;
  if (tls) {
    plain_buffer_.resize(kReadBytes + net::TlsChannel::kMostHeldBack);
    channel = std::make_unique<net::TlsChannel>(std::move(tls));
  }
  connections_.push_back(
      std::make_unique<Connection>(*this, std::move(socket), peer, std::move(channel)));
  connections_.back()->position_ = connections_.size() - 1;
  if (connections_.size() == 1) ScheduleSweep();
  if (draining_) connections_.back()->Drain();
}

void Connections::Drain(SteadyTime deadline, std::function<void()> on_empty) {
  draining_ = true;
  drain_deadline_ = deadline;
  on_empty_ = std::move(on_empty);
  for (const auto& connection : connections_) connection->Drain();
  ScheduleSweep();
  turn_end_.Ask();
}

void Connections::WriteAtTurnEnd(Connection& connection) {
  if (std::exchange(connection.will_write_, true)) return;
  to_write_.push_back(&connection);
  turn_end_.Ask();
}

void Connections::ReadNextTurn(Connection& connection) {
  if (std::exchange(connection.will_read_, true)) return;
  to_read_.push_back(&connection);
  turn_end_.Ask();
}

void Connections::Bury(Connection& connection) {
  buried_.push_back(&connection);
  turn_end_.Ask();
}

void Connections::FinishTurn() {
  // Since the last turn's end: whoever asks again below is for the next one.
  scratch_.swap(to_read_);
  for (Connection* const connection : scratch_) {
    connection->will_read_ = false;
    connection->Read();
  }
  scratch_.clear();
  scratch_.swap(to_write_);
  for (Connection* const connection : scratch_) {
    connection->will_write_ = false;
    connection->Write();
  }
  scratch_.clear();
  DestroyBuried();
  if (draining_ && connections_.empty() && on_empty_) std::exchange(on_empty_, nullptr)();
}

void Connections::DestroyBuried() {
  if (buried_.empty()) return;
  // Nobody may be remembered who is about to go.
  std::erase_if(to_write_, [](const Connection* c) { return c->closed_; });
  std::erase_if(to_read_, [](const Connection* c) { return c->closed_; });
  for (Connection* const connection : buried_) {
    counters_.closed.Add();
    admission_.Leave(connection->peer_);
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
  for (const auto& connection : connections_) {
    if (cut) {
      connection->Close(&counters_.cut);
    } else {
      connection->CheckTime(now);
      if (draining_) connection->Drain();
    }
  }
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

}  // namespace sluice::server

#include <algorithm>

#include <sys/socket.h>

#include "transport/connection.h"

// Connections beyond the limits for operators, with one short request each.

namespace sluice::transport {
namespace {

// Timeout until the whole request was received.
constexpr Micros kTimeToAsk = std::chrono::seconds(2);
// Total timeout, long enough for the metrics page.
constexpr Micros kTimeInReserve = std::chrono::seconds(10);

}  // namespace

// Connections that were answered, or have sent no request, are closed first.
int Connection::ReserveRank() const {
  if (lingering()) return 0;
  return session_->pending() == 0 && unwritten() == 0 ? 1 : 2;
}

bool Connection::ReserveTimeIsOver(SteadyTime now) const {
  const Micros age = now - accepted_;
  return age >= kTimeInReserve || (ReserveRank() == 1 && age >= kTimeToAsk);
}

void Connection::GiveWay() {
  if (closed()) return;
  if (!tls_ && !answered_ && ReserveRank() == 1) {
    // Best effort: usually fits into the socket's empty send buffer.
    static_cast<void>(send(socket_.get(), all_.refusal_.data(), all_.refusal_.size(),
                           MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  Close(nullptr);
}

void Connection::CountReserved() {
  ConnectionCounters& counters = all_.counters_;
  (session_->served_operator() ? counters.reserved : counters.refused[*refusal_]).Add();
}

// One of the newcomer's own address gives way first: a client that floods the reserve has one of
// its own there, and takes nothing from others.
void Connections::MakeRoomInReserve(const net::PeerAddress& newcomer) {
  while (!reserved_.empty() && reserved_.size() >= limits_.reserved) {
    const auto loss = [&](const Connection* connection) {
      const bool is_other = !Admission::AreOneAddress(connection->facts_.peer, newcomer);
      return (is_other ? 3 : 0) + connection->ReserveRank();
    };
    // The oldest of those that lose least.
    const auto least = std::min_element(
        reserved_.begin(), reserved_.end(),
        [&](const Connection* a, const Connection* b) { return loss(a) < loss(b); });
    Connection* const connection = *least;
    reserved_.erase(least);
    connection->GiveWay();
  }
}

}  // namespace sluice::transport

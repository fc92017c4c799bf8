#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/network.h"
#include "identity/proxy_protocol.h"
#include "net/address.h"
#include "net/fd.h"
#include "net/readiness.h"
#include "net/tls_channel.h"
#include "transport/connection_facts.h"
#include "transport/connections.h"
#include "transport/session.h"

namespace sluice::transport {

/// A client's socket and its session. Owned by Connections, which destroys it some time after it
/// has closed itself.
class Connection final : public transport::Transport, private net::Watcher {
 public:
  /// `tls` is null for plain text. `refusal`: see Connections::Adopt.
  Connection(Connections& all, net::Fd socket, const net::PeerAddress& peer,
             std::unique_ptr<net::TlsChannel> tls, std::optional<Refusal> refusal);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void OutputReady() override;
  void CountExceeded(ResourceBound bound) override;
  void BeginWork() override;

  /// Reads available input, within the share of this turn.
  void Read();
  /// Continues with buffered requests, then reads.
  void GoOn();
  /// Returns whether GoOn would make progress.
  [[nodiscard]] bool MayGoOn() const;
  /// Writes the output, then decides whether to read, wait or close.
  void Write();
  /// See Connections::Drain.
  void Drain();
  /// Closes if a timeout has passed.
  void CheckTime(SteadyTime now);
  /// Closes immediately and increments `why`, if not null.
  void Close(Counter* why);

  // ---- In the reserve (connection_reserve.cc).

  [[nodiscard]] bool is_reserved() const { return refusal_.has_value(); }
  /// Cost of closing it in favor of another; 0 is the lowest.
  [[nodiscard]] int ReserveRank() const;
  /// Sends the refusal to the client, unless it was answered, and closes.
  void GiveWay();

  /// Continues the TLS handshake. Called in turn from Connections::handshakes_.
  void RunHandshake();

 private:
  friend class Connections;

  enum class Phase : std::uint8_t {
    kServing,
    kDraining,   // The session was asked to drain.
    kLingering,  // All output is written; input is discarded.
    kClosed,
  };
  enum class Input : std::uint8_t {
    kOpen,
    kEnding,  // Epoll has reported the end of input; remaining input is read first.
    kEnded,   // End of input was read.
  };
  enum class Output : std::uint8_t {
    kFree,       // The kernel has accepted all output.
    kBlocked,    // The send buffer is full; epoll reports when it has space.
    kUnblocked,  // The send buffer has space again.
  };
  enum Queue : std::uint8_t { kToWrite = 1, kToRead = 2, kWaiting = 4 };

  /// Returns false if it is already in the queue.
  bool Enqueue(Queue queue) { return (std::exchange(queues_, queues_ | queue) & queue) == 0; }
  void Dequeue(Queue queue) { queues_ &= static_cast<std::uint8_t>(~queue); }
  [[nodiscard]] bool closed() const { return phase_ == Phase::kClosed; }
  [[nodiscard]] bool lingering() const { return phase_ == Phase::kLingering; }
  [[nodiscard]] bool blocked() const { return output_ == Output::kBlocked; }

  void OnReady(std::uint32_t events) override;
  [[nodiscard]] bool WantsToRead() const;
  [[nodiscard]] bool HoldsTooMuch() const;
  void CountHeld();
  void PlanNext();
  [[nodiscard]] bool IsOver() const;
  [[nodiscard]] std::size_t unwritten() const {
    const std::size_t sealed = tls_ ? tls_->output().size() : 0;
    return session_->output().size() - written_ + sealed;
  }
  void BeginSession();
  void TakeProxyHeader(std::string_view& bytes);
  void Take(std::string_view bytes);
  void TakeSealed(std::string_view bytes);
  bool WaitsForHandshakeTurn();
  void OnHandshake();
  void Count(TlsHandshake result);
  [[nodiscard]] bool InHandshake() const;
  void OnEndOfInput();
  void WriteSome();
  void WriteOutput();
  void WriteSealed();
  std::size_t Send(std::string_view bytes);
  void DropWritten();
  void End();
  [[nodiscard]] bool ReserveTimeIsOver(SteadyTime now) const;
  void CountReserved();

  Connections& all_;
  net::Fd socket_;
  std::unique_ptr<transport::Session> session_;
  std::unique_ptr<net::TlsChannel> tls_;
  std::unique_ptr<HandshakeQueue::Entry> handshake_;  // Until the handshake has succeeded.
  std::unique_ptr<identity::ProxyProtocolReader> proxy_header_;  // While the header is being read.
  ConnectionFacts facts_;
  std::size_t written_ = 0;   // Bytes of the output that are written (with TLS: encrypted).
  std::size_t position_ = 0;  // Index in all_.connections_.
  std::size_t held_ = 0;      // Bytes reported to the memory budget.
  SteadyTime turn_{};         // The turn of the current share.
  const std::optional<Refusal> refusal_;  // Not set: admitted within the limits.
  const SteadyTime accepted_;
  SteadyTime active_;         // Time of the last byte in either direction.
  SteadyTime could_write_{};  // When the kernel last accepted output, or could have.
  SteadyTime request_began_;  // Valid while a request is under way.
  SteadyTime lingers_since_{};
  Phase phase_ = Phase::kServing;
  Input input_ = Input::kOpen;
  Output output_ = Output::kFree;
  std::uint8_t queues_ = 0;  // Bits of Queue: the queues of all_ that contain it.
  bool readable_ = false;    // The socket may have input.
  bool heard_ = false;       // The client has sent something.
  bool answered_ = false;    // The server has sent something.
};

}  // namespace sluice::transport

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

/// A client's socket and its conversation. Belongs to Connections, which destroys it some time
/// after it has closed itself.
class Connection final : public transport::Transport, private net::Watcher {
 public:
  /// `tls`: null for one in plain text. `refusal`: see Connections::Adopt.
  Connection(Connections& all, net::Fd socket, const net::PeerAddress& peer,
             std::unique_ptr<net::TlsChannel> tls, std::optional<Refusal> refusal);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void OutputReady() override;
  void CountExceeded(ResourceBound bound) override;
  void BeginWork() override;

  /// Reads what is there, within one turn's share.
  void Read();
  /// Goes on with what has arrived, then reads.
  void GoOn();
  /// Whether it would, now.
  [[nodiscard]] bool MayGoOn() const;
  /// Writes what there is, then sees whether the connection goes on.
  void Write();
  /// See Connections::Drain.
  void Drain();
  /// Closes if one of the time limits has passed.
  void CheckTime(SteadyTime now);
  /// Closes now; `why` counts it, if it is something to count.
  void Close(Counter* why);

  // ---- In the reserve (connection_reserve.cc).

  [[nodiscard]] bool is_reserved() const { return refusal_.has_value(); }
  /// How much is lost if it gives way to another: 0 is least.
  [[nodiscard]] int ReserveRank() const;
  /// Tells the client that there is no room, unless it was answered, and closes.
  void GiveWay();

  /// Goes on with the TLS handshake: its turn in Connections::handshakes_ has come.
  void RunHandshake();

 private:
  friend class Connections;

  enum class Phase : std::uint8_t {
    kServing,
    kDraining,   // The session knows that the server drains.
    kLingering,  // All output is written; what comes is discarded.
    kClosed,
  };
  enum class Input : std::uint8_t {
    kOpen,
    kEnding,  // Epoll reports the end; it is read after what comes before it.
    kEnded,   // Nothing more will come.
  };
  enum class Output : std::uint8_t {
    kFree,       // The kernel has taken everything so far.
    kBlocked,    // It takes no more for now; epoll reports when it does again.
    kUnblocked,  // It does again.
  };
  enum Queue : std::uint8_t { kToWrite = 1, kToRead = 2, kWaiting = 4 };

  /// Returns false if it is in the queue already.
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
  std::unique_ptr<identity::ProxyProtocolReader> proxy_header_;  // While it is being read.
  ConnectionFacts facts_;
  std::size_t written_ = 0;   // So much of the output; with TLS, so much of it is sealed.
  std::size_t position_ = 0;  // In all_.connections_.
  std::size_t held_ = 0;      // Bytes, as the memory budget knows.
  SteadyTime turn_{};         // Of which the share is.
  const std::optional<Refusal> refusal_;  // Not set: it is within the bounds.
  const SteadyTime accepted_;
  SteadyTime active_;         // When bytes last went either way.
  SteadyTime could_write_{};  // When the kernel last took output, or would have.
  SteadyTime request_began_;  // Good while a request is under way.
  SteadyTime lingers_since_{};
  Phase phase_ = Phase::kServing;
  Input input_ = Input::kOpen;
  Output output_ = Output::kFree;
  std::uint8_t queues_ = 0;  // Of all_, in which it is: bits of Queue.
  bool readable_ = false;    // There may be something to read.
  bool heard_ = false;       // The client has sent something.
  bool answered_ = false;    // And so have we.
};

}  // namespace sluice::transport

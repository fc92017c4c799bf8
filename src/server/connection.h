#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "api/session.h"
#include "base/network.h"
#include "identity/proxy_protocol.h"
#include "net/address.h"
#include "net/fd.h"
#include "net/readiness.h"
#include "net/tls_channel.h"
#include "server/connections.h"
#include "telemetry/labels.h"

namespace sluice::server {

/// A client's socket and its conversation. Belongs to Connections, which destroys it some time
/// after it has closed itself.
class Connection final : public api::SessionHost, private net::Watcher {
 public:
  /// `tls`: null for one in plain text.
  Connection(Connections& all, net::Fd socket, const net::PeerAddress& peer,
             std::unique_ptr<net::TlsChannel> tls);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void OutputReady() override;

  /// Reads what is there, within one turn's share.
  void Read();
  /// Writes what there is, then sees whether the connection goes on.
  void Write();
  /// See Connections::Drain.
  void Drain();
  /// Closes if one of the time limits has passed.
  void CheckTime(SteadyTime now);
  /// Closes now; `why` counts it, if it is something to count.
  void Close(Counter* why);

 private:
  friend class Connections;

  void OnReady(std::uint32_t events) override;
  [[nodiscard]] bool WantsToRead() const;
  [[nodiscard]] bool IsOver() const;
  [[nodiscard]] std::size_t unwritten() const {
    const std::size_t sealed = tls_ ? tls_->output().size() : 0;
    return session_->output().size() - written_ + sealed;
  }
  void BeginSession(ConnectionFacts facts);
  void TakeProxyHeader(std::string_view& bytes);
  void Take(std::string_view bytes);
  void TakeSealed(std::string_view bytes);
  void OnHandshake();
  void Count(telemetry::TlsHandshake result);
  [[nodiscard]] bool InHandshake() const;
  void OnEndOfInput();
  void WriteSome();
  void WriteOutput();
  void WriteSealed();
  std::size_t Send(std::string_view bytes);
  void DropWritten();
  void End();

  Connections& all_;
  net::Fd socket_;
  const net::PeerAddress peer_;
  std::unique_ptr<api::Session> session_;
  std::unique_ptr<net::TlsChannel> tls_;
  std::unique_ptr<identity::ProxyProtocolReader> proxy_header_;  // While it is being read.
  std::optional<Address> proxied_for_;
  std::size_t written_ = 0;   // So much of the output; with TLS, so much of it is sealed.
  std::size_t position_ = 0;  // In all_.connections_.
  SteadyTime active_;         // When bytes last went either way.
  SteadyTime could_write_{};  // When the kernel last took output, or would have.
  SteadyTime request_began_;  // Good while a request is under way.
  SteadyTime lingers_since_{};
  bool is_proxied_ = false;   // The header of a proxy has been read.
  bool readable_ = false;     // There may be something to read.
  bool peer_ending_ = false;  // Epoll says so; the end is read after what comes before it.
  bool peer_ended_ = false;   // Nothing more will come.
  bool blocked_ = false;      // The kernel takes no more for now.
  bool watches_out_ = false;  // Whether we hear when it does again.
  bool heard_ = false;        // The client has said something.
  bool answered_ = false;     // And so have we.
  bool drained_ = false;      // The session knows.
  bool lingering_ = false;    // We have said our last; what comes is thrown away.
  bool closed_ = false;
  bool will_write_ = false;  // In all_.to_write_.
  bool will_read_ = false;   // In all_.to_read_.
};

}  // namespace sluice::server

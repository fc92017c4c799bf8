#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "net/loop.h"

namespace sluice::net {

/// Client options of TLS (1.2 or newer).
struct TlsOptions {
  bool enabled = false;
  std::string ca_file{};      ///< Trusted CAs, PEM. Empty: the system's.
  std::string cert_file{};    ///< Client certificate, PEM, with its chain; if requested.
  std::string key_file{};     ///< Its private key, PEM.
  std::string server_name{};  ///< Expected name in the server's certificate. Empty: the host.
  bool verify = true;         ///< False: the server's identity is not verified.
};

struct StreamOptions {
  std::string host{};  ///< A name or an address.
  std::uint16_t port = 0;
  std::string unix_socket{};  ///< A path; takes precedence over host and port.
  TlsOptions tls{};
  Micros connect_timeout =
      std::chrono::seconds(1);  ///< Name resolution, connection and TLS handshake together.
};

/// Events of a stream. Called on the loop's thread, never inside functions of the stream.
class StreamEvents {
 public:
  virtual void OnConnected() = 0;
  /// Received bytes; valid until it returns.
  virtual void OnData(std::string_view bytes) = 0;
  /// The last Write was passed to the kernel completely.
  virtual void OnWritten() = 0;
  /// The connection failed or ended. The last event.
  virtual void OnEnded(const std::string& reason) = 0;

 protected:
  ~StreamEvents() = default;
};

/// One outgoing connection over TCP, a Unix socket or TLS. Connects once and does not reconnect.
/// Lives on its loop's thread. Names are resolved on a thread of Asio; everything else runs on the
/// loop. TCP connections use TCP_NODELAY and keep-alive.
///
/// May be destroyed at any time, also inside its own events; there are no events afterwards.
class Stream {
 public:
  Stream(Loop& loop, StreamOptions options, StreamEvents& events);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Swaps `bytes` with an empty buffer and writes them. Only after OnConnected, and one at a time:
  /// the next one after OnWritten.
  void Write(std::string& bytes);
  [[nodiscard]] bool writing() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace sluice::net

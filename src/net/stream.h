#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "net/loop.h"

namespace sluice::net {

/// TLS 1.2 or newer, as a client.
struct TlsOptions {
  bool enabled = false;
  std::string ca_file{};      ///< Trusted authorities, PEM. Empty: those of the system.
  std::string cert_file{};    ///< Client certificate, PEM, with its chain; if requested.
  std::string key_file{};     ///< Its private key, PEM.
  std::string server_name{};  ///< Expected name in the server's certificate. Empty: the host.
  bool verify = true;         ///< False: anybody may pose as the server.
};

struct StreamOptions {
  std::string host{};  ///< A name or an address.
  std::uint16_t port = 0;
  std::string unix_socket{};  ///< A path; wins over host and port.
  TlsOptions tls{};
  Micros connect_timeout = std::chrono::seconds(1);  ///< For names, connection and TLS together.
};

/// Events of a stream. They run on the loop's thread, never inside a call of the stream.
class StreamEvents {
 public:
  virtual void OnConnected() = 0;
  /// Some bytes; good until it returns.
  virtual void OnData(std::string_view bytes) = 0;
  /// The whole of the last Write has been given to the kernel.
  virtual void OnWritten() = 0;
  /// There never was a connection, or it is over. The last event.
  virtual void OnEnded(const std::string& reason) = 0;

 protected:
  ~StreamEvents() = default;
};

/// One outgoing connection, over TCP, a Unix socket or TLS: connects once, and when it ends it
/// stays ended. Lives on its loop's thread. Names are looked up on a thread of Asio's, everything
/// else happens on the loop. TCP connections have Nagle's delay off and keep-alive on.
///
/// The bytes on their way belong to the stream, so it may be destroyed at any time, inside its own
/// events too; after that there are no more events.
class Stream {
 public:
  Stream(Loop& loop, StreamOptions options, StreamEvents& events);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Takes all of `bytes` and leaves an empty string with room in it. Only after OnConnected, and
  /// one at a time: the next after OnWritten.
  void Write(std::string& bytes);
  [[nodiscard]] bool writing() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace sluice::net

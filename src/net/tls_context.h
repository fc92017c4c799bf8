#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <openssl/types.h>

#include <sluice/result.h>
#include <sluice/time.h>

namespace sluice::net {

enum class TlsVersion : std::uint8_t { k12, k13 };

/// Whether clients must have a certificate. An invalid certificate is always rejected.
enum class ClientCertificates : std::uint8_t { kOff, kOptional, kRequired };

/// TLS options of a server. Files are PEM.
struct TlsServerOptions {
  std::string certificate{};  ///< File with the certificate, followed by its chain.
  std::string key{};          ///< File with the key. Empty: in the certificate's file.
  TlsVersion minimum = TlsVersion::k12;
  ClientCertificates client_certificates = ClientCertificates::kOff;
  std::string client_ca{};  ///< File with the CAs of client certificates.
  /// Protocols in order of preference ("http/1.1"). A client that offers only others is rejected;
  /// one without ALPN is accepted.
  std::vector<std::string> alpn{};
  std::string plain_answer{};  ///< Sent as it is to clients that don't speak TLS.
};

/// The server's TLS context for any number of connections: certificate, key, and ticket keys.
/// Immutable: changed files mean a new context, and clients that resume a session of the old one
/// make a full handshake. Thread-safe.
class TlsContext {
 public:
  /// Reads all files. An error message begins with the name of the option. Certificates that are
  /// expired or not yet valid at `now` cause only warnings.
  static Result<std::shared_ptr<const TlsContext>> Load(const TlsServerOptions& options,
                                                        WallTime now);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  [[nodiscard]] const TlsServerOptions& options() const { return options_; }
  [[nodiscard]] SSL_CTX* get() const { return context_; }
  /// The certificate's expiry.
  [[nodiscard]] WallTime expires() const { return expires_; }
  /// Warnings about a certificate that works, such as an expired one.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  explicit TlsContext(TlsServerOptions options);

  Result<bool> Configure();
  Result<bool> LoadIdentity();
  Result<bool> LoadClientAuthority();
  void CheckDates(WallTime now);
  static int ChooseProtocol(SSL* connection, const unsigned char** chosen, unsigned char* size,
                            const unsigned char* offered, unsigned offered_size, void* self);

  const TlsServerOptions options_;
  std::string alpn_;  ///< In wire format.
  SSL_CTX* context_;
  WallTime expires_{};
  std::vector<std::string> warnings_;
};

}  // namespace sluice::net

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

/// Whether clients are asked who they are. One that shows a certificate which is not good is turned
/// away in either case.
enum class ClientCertificates : std::uint8_t { kOff, kOptional, kRequired };

/// How a server speaks TLS. Files are PEM.
struct TlsServerOptions {
  std::string certificate{};  ///< A file: the certificate, then those that lead to its authority.
  std::string key{};          ///< A file. Empty: it is in the file of the certificate.
  TlsVersion minimum = TlsVersion::k12;
  ClientCertificates client_certificates = ClientCertificates::kOff;
  std::string client_ca{};  ///< A file: whose certificates of clients are good.
  /// Protocols in the server's order of preference ("http/1.1"). A client that offers others only
  /// is turned away; one that offers none is not asked.
  std::vector<std::string> alpn{};
  std::string plain_answer{};  ///< Sent as it is to clients that don't speak TLS.
};

/// The server's side of TLS, ready for any number of connections: certificate, key, and the keys of
/// its session tickets. Never changes: other files mean another context, and a client that resumes
/// a session of the old one makes a full handshake. Thread-safe.
class TlsContext {
 public:
  /// Reads all files. The message of an error begins with the name of the option that is wrong.
  /// `now` is for what would be wrong later, or has been before: it is only warned of.
  static Result<std::shared_ptr<const TlsContext>> Load(const TlsServerOptions& options,
                                                        WallTime now);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  [[nodiscard]] const TlsServerOptions& options() const { return options_; }
  [[nodiscard]] SSL_CTX* get() const { return context_; }
  /// When the certificate stops being good.
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
  std::string alpn_;  ///< As it travels.
  SSL_CTX* context_;
  WallTime expires_{};
  std::vector<std::string> warnings_;
};

}  // namespace sluice::net

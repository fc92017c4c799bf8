#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <openssl/ssl.h>

namespace sluice::net::testing {

struct CertificateFiles {
  std::string certificate{};
  std::string key{};
};

struct CertificateOptions {
  std::string common_name = "server.test";
  std::string organization{};
  long begins_in_seconds = -3600;
  long ends_in_seconds = 3600;
  std::string passphrase{};  ///< Of the key; empty: it lies there open.
};

/// An authority that exists for one test, with what it has signed: files in a folder of its own.
class Authority {
 public:
  explicit Authority(const std::string& name = "Authority");
  ~Authority();
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  /// The authority's own certificate.
  [[nodiscard]] std::string certificate() const { return folder_ / "ca.pem"; }
  /// Named after `name`; what had that name before is replaced.
  CertificateFiles Issue(const std::string& name, const CertificateOptions& options = {});
  /// A path in the folder.
  [[nodiscard]] std::string File(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
  EVP_PKEY* key_;
  X509* certificate_;
};

struct TlsClientOptions {
  std::string ca{};                ///< Empty: the server is not looked at.
  CertificateFiles identity{};     ///< May be empty.
  int version = 0;                 ///< TLS1_2_VERSION or another; 0: whichever is best.
  std::string alpn{};              ///< One protocol; empty: none.
  SSL_SESSION* session = nullptr;  ///< To be resumed.
};

struct SslDeleter {
  void operator()(SSL* ssl) const;
};
using SslPointer = std::unique_ptr<SSL, SslDeleter>;

/// A client that has not begun, and is not connected to anything.
[[nodiscard]] SslPointer NewTlsClient(const TlsClientOptions& options);

}  // namespace sluice::net::testing

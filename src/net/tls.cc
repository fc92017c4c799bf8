#include "net/tls.h"

#include <cstdlib>

#include <boost/asio/ip/address.hpp>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

namespace sluice::net {
namespace {

using boost::asio::ssl::context;

std::string Problem(std::string_view field, const std::string& file,
                    const boost::system::error_code& error) {
  return std::string("tls ").append(field).append(" ").append(file).append(": ").append(
      error.message());
}

// OpenSSL is part of the binary and knows the paths of the distribution that it was built for.
// Where they don't exist, and no variable names others, the bundle of another distribution is
// loaded.
void LoadBundle(context& tls, boost::system::error_code& error) {
  for (const char* const path : {X509_get_default_cert_file(), X509_get_default_cert_dir()}) {
    if (::access(path, R_OK) == 0) return;
  }
  for (const char* const variable :
       {X509_get_default_cert_file_env(), X509_get_default_cert_dir_env()}) {
    if (std::getenv(variable) != nullptr) return;  // NOLINT(concurrency-mt-unsafe)
  }
  for (const char* const bundle : {
           "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch
           "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora, RHEL
           "/etc/ssl/ca-bundle.pem",              // openSUSE
       }) {
    if (::access(bundle, R_OK) == 0) {
      tls.load_verify_file(bundle, error);
      return;
    }
  }
}

std::optional<std::string> LoadTrust(const TlsOptions& options, context& tls) {
  boost::system::error_code error;
  if (options.ca_file.empty()) {
    tls.set_default_verify_paths(error);
    if (!error) LoadBundle(tls, error);
    if (error) return "tls: the system's certificates: " + error.message();
  } else {
    tls.load_verify_file(options.ca_file, error);
    if (error) return Problem("ca_file", options.ca_file, error);
  }
  return std::nullopt;
}

std::optional<std::string> LoadIdentity(const TlsOptions& options, context& tls) {
  if (options.cert_file.empty() != options.key_file.empty()) {
    return "tls: cert_file and key_file go together";
  }
  if (options.cert_file.empty()) return std::nullopt;
  boost::system::error_code error;
  tls.use_certificate_chain_file(options.cert_file, error);
  if (error) return Problem("cert_file", options.cert_file, error);
  tls.use_private_key_file(options.key_file, context::pem, error);
  if (error) return Problem("key_file", options.key_file, error);
  return std::nullopt;
}

bool IsAddress(const std::string& name) {
  boost::system::error_code error;
  boost::asio::ip::make_address(name, error);
  return !error;
}

}  // namespace

std::optional<std::string> ConfigureTls(const TlsOptions& options, context& tls) {
  SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
  boost::system::error_code error;
  tls.set_verify_mode(
      options.verify ? boost::asio::ssl::verify_peer : boost::asio::ssl::verify_none, error);
  if (error) return "tls: " + error.message();
  if (options.verify) {
    if (auto problem = LoadTrust(options, tls)) return problem;
  }
  return LoadIdentity(options, tls);
}

std::optional<std::string> ExpectServer(const TlsOptions& options, const std::string& host,
                                        SSL* connection) {
  const std::string& name = options.server_name.empty() ? host : options.server_name;
  if (name.empty()) {
    return options.verify ? std::optional<std::string>("tls: server_name is needed without a host")
                          : std::nullopt;
  }
  X509_VERIFY_PARAM* const expected = SSL_get0_param(connection);
  if (IsAddress(name)) {
    if (options.verify && X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str()) != 1) {
      return "tls: can't expect the address " + name;
    }
    return std::nullopt;
  }
  X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool expects =
      !options.verify || X509_VERIFY_PARAM_set1_host(expected, name.c_str(), name.size()) == 1;
  // SNI: the server selects its certificate by this name.
  if (!expects || SSL_set_tlsext_host_name(connection, name.c_str()) != 1) {
    return "tls: not a server's name: " + name;
  }
  return std::nullopt;
}

std::string HandshakeFailure(SSL* connection, const boost::system::error_code& error) {
  const long verified = SSL_get_verify_result(connection);
  if (verified != X509_V_OK) {
    return std::string("tls: the server's certificate is not accepted: ") +
           X509_verify_cert_error_string(verified);
  }
  return "tls: " + error.message();
}

}  // namespace sluice::net

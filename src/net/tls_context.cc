#include "net/tls_context.h"

#include <ctime>
#include <new>
#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/read_file.h"

namespace sluice::net {
namespace {

// Ciphers of TLS 1.2 with forward secrecy and authenticated encryption; all of TLS 1.3 have both.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
// Separates our sessions from those of other servers with the same CA.
constexpr unsigned char kSessionContext[] = "sluice";

Error Wrong(std::string_view option, const std::string& what) {
  return {ErrorCode::kInvalidOptions, std::string(option) + ": " + what};
}

std::string TakeReason() {
  const unsigned long error = ERR_peek_last_error();
  const char* const reason = ERR_reason_error_string(error);
  ERR_clear_error();
  return reason != nullptr ? reason : "OpenSSL gives no reason";
}

// OpenSSL's message for a missing file is hard to read.
Result<bool> CheckReadable(std::string_view option, const std::string& path) {
  constexpr std::size_t kMaxBundle = std::size_t{16} << 20;
  const auto content = ReadFile(path, kMaxBundle);
  if (!content) return Wrong(option, path + " " + content.error().message);
  if (content->empty()) return Wrong(option, path + " is empty");
  return true;
}

// Without it OpenSSL would ask for the passphrase on the terminal.
int NoPassphrase(char* /*room*/, int /*size*/, int /*writes*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

// A resumed session is not verified again and gets a new ticket: without this, a client could
// continue with a certificate long after it expired.
SSL_TICKET_RETURN UseTicket(SSL* /*connection*/, SSL_SESSION* session,
                            const unsigned char* /*key_name*/, std::size_t /*key_name_size*/,
                            SSL_TICKET_STATUS status, void* /*argument*/) {
  if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) {
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  }
  const X509* const certificate = SSL_SESSION_get0_peer(session);
  if (certificate != nullptr && X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0) {
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  }
  return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

std::string Travelling(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const std::string& name : protocols) {
    wire.append(1, static_cast<char>(name.size())).append(name);
  }
  return wire;
}

WallTime TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  return WallTime(std::chrono::seconds(timegm(&parts)));
}

}  // namespace

TlsContext::TlsContext(TlsServerOptions options)
    : options_(std::move(options)),
      alpn_(Travelling(options_.alpn)),
      context_(SSL_CTX_new(TLS_server_method())) {
  if (context_ == nullptr) throw std::bad_alloc();
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

Result<std::shared_ptr<const TlsContext>> TlsContext::Load(const TlsServerOptions& options,
                                                           WallTime now) {
  ERR_clear_error();
  const std::shared_ptr<TlsContext> context(new TlsContext(options));
  for (const auto step :
       {&TlsContext::Configure, &TlsContext::LoadIdentity, &TlsContext::LoadClientAuthority}) {
    if (auto done = (*context.*step)(); !done) return done.error();
  }
  context->CheckDates(now);
  return std::shared_ptr<const TlsContext>(context);
}

Result<bool> TlsContext::Configure() {
  SSL_CTX_set_min_proto_version(
      context_, options_.minimum == TlsVersion::k13 ? TLS1_3_VERSION : TLS1_2_VERSION);
  SSL_CTX_set_options(context_, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                    SSL_OP_PRIORITIZE_CHACHA | SSL_OP_NO_COMPRESSION);
  // Buffers of 33 KiB that an idle connection does not need.
  SSL_CTX_set_mode(context_, SSL_MODE_RELEASE_BUFFERS);
  // Sessions are resumed by tickets, which the clients keep; here nothing is kept.
  SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(context_, kSessionContext, sizeof kSessionContext - 1);
  if (SSL_CTX_set_cipher_list(context_, kCiphers) != 1) return Wrong("ciphers", TakeReason());
  if (!alpn_.empty()) SSL_CTX_set_alpn_select_cb(context_, ChooseProtocol, this);
  return true;
}

Result<bool> TlsContext::LoadIdentity() {
  const std::string& certificate = options_.certificate;
  if (auto readable = CheckReadable("certificate", certificate); !readable) return readable;
  if (SSL_CTX_use_certificate_chain_file(context_, certificate.c_str()) != 1) {
    return Wrong("certificate", certificate + " holds no certificate in PEM: " + TakeReason());
  }
  const std::string& key = options_.key.empty() ? certificate : options_.key;
  if (auto readable = CheckReadable("key", key); !readable) return readable;
  bool is_encrypted = false;
  SSL_CTX_set_default_passwd_cb(context_, NoPassphrase);
  SSL_CTX_set_default_passwd_cb_userdata(context_, &is_encrypted);
  const bool loaded = SSL_CTX_use_PrivateKey_file(context_, key.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(context_, nullptr);
  if (loaded && SSL_CTX_check_private_key(context_) == 1) return true;
  const unsigned long error = ERR_peek_last_error();
  const std::string reason = TakeReason();
  if (is_encrypted) return Wrong("key", key + " needs a passphrase; use a key without one");
  if (loaded || ERR_GET_LIB(error) == ERR_LIB_X509) {
    return Wrong("key", key + " does not belong to the certificate " + certificate);
  }
  return Wrong("key", key + " holds no private key in PEM: " + reason);
}

Result<bool> TlsContext::LoadClientAuthority() {
  if (options_.client_certificates == ClientCertificates::kOff) return true;
  const std::string& path = options_.client_ca;
  if (auto readable = CheckReadable("client_ca", path); !readable) return readable;
  // The names are sent to clients, so that they find the right one of their certificates.
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(path.c_str());
  if (names == nullptr || SSL_CTX_load_verify_file(context_, path.c_str()) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return Wrong("client_ca", path + " holds no certificate in PEM: " + TakeReason());
  }
  SSL_CTX_set_client_CA_list(context_, names);
  SSL_CTX_set_session_ticket_cb(context_, nullptr, UseTicket, nullptr);
  const bool required = options_.client_certificates == ClientCertificates::kRequired;
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                     nullptr);
  return true;
}

void TlsContext::CheckDates(WallTime now) {
  const X509* const certificate = SSL_CTX_get0_certificate(context_);
  expires_ = TimeOf(X509_get0_notAfter(certificate));
  if (expires_ < now) {
    warnings_.push_back("certificate: " + options_.certificate + " has expired");
  }
  if (TimeOf(X509_get0_notBefore(certificate)) > now) {
    warnings_.push_back("certificate: " + options_.certificate + " is not valid yet");
  }
}

int TlsContext::ChooseProtocol(SSL* /*connection*/, const unsigned char** chosen,
                               unsigned char* size, const unsigned char* offered,
                               unsigned offered_size, void* self) {
  const std::string& ours = static_cast<const TlsContext*>(self)->alpn_;
  unsigned char* found = nullptr;
  const int result =
      SSL_select_next_proto(&found, size, reinterpret_cast<const unsigned char*>(ours.data()),
                            static_cast<unsigned>(ours.size()), offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace sluice::net

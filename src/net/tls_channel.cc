#include "net/tls_channel.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace sluice::net {

/// The BIO between OpenSSL and a channel's buffers.
struct TlsPipe {
  static TlsChannel& ChannelOf(BIO* bio) { return *static_cast<TlsChannel*>(BIO_get_data(bio)); }

  static int Read(BIO* bio, char* buffer, std::size_t size, std::size_t* read) {
    std::string_view& input = ChannelOf(bio).input_;
    BIO_clear_retry_flags(bio);
    *read = std::min(size, input.size());
    if (*read == 0) {
      BIO_set_retry_read(bio);
      return 0;
    }
    std::memcpy(buffer, input.data(), *read);
    input.remove_prefix(*read);
    return 1;
  }

  static int Write(BIO* bio, const char* bytes, std::size_t size, std::size_t* written) {
    BIO_clear_retry_flags(bio);
    ChannelOf(bio).output_.append(bytes, size);
    *written = size;
    return 1;
  }

  static long Control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static const BIO_METHOD* Method() {
    static const BIO_METHOD* const kMethod = [] {
      BIO_METHOD* const method =
          BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sluice channel");
      BIO_meth_set_read_ex(method, Read);
      BIO_meth_set_write_ex(method, Write);
      BIO_meth_set_ctrl(method, Control);
      return method;
    }();
    return kMethod;
  }
};

namespace {

// The first byte of a record that carries a handshake.
constexpr char kHandshakeRecord = 0x16;
// Capacity of an output buffer that is kept.
constexpr std::size_t kKeptBytes = std::size_t{64} << 10;

// Stale errors in the queue would be attributed to this call. Checking is cheaper than clearing.
void ForgetErrors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

bool CanBePrinted(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

std::string Rfc2253(const X509_NAME* name) {
  BIO* const bio = BIO_new(BIO_s_mem());
  if (bio == nullptr) throw std::bad_alloc();
  X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  std::string copy(text, static_cast<std::size_t>(std::max(size, 0L)));
  BIO_free(bio);
  return copy;
}

// The last error is the most specific.
std::string CommonName(const X509_NAME* name) {
  int last = -1;
  for (int i = -1; (i = X509_NAME_get_index_by_NID(name, NID_commonName, i)) >= 0;) last = i;
  if (last < 0) return {};
  unsigned char* text = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, last)));
  if (size < 0) return {};
  std::string copy(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  CRYPTO_free(text, "", 0);  // OPENSSL_free puts this file's path into the binary.
  return CanBePrinted(copy) ? copy : std::string();
}

}  // namespace

TlsChannel::TlsChannel(std::shared_ptr<const TlsContext> context)
    : context_(std::move(context)), ssl_(SSL_new(context_->get())) {
  BIO* const bio = ssl_ != nullptr ? BIO_new(TlsPipe::Method()) : nullptr;
  if (bio == nullptr) {
    SSL_free(ssl_);
    throw std::bad_alloc();
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_accept_state(ssl_);
}

TlsChannel::~TlsChannel() { SSL_free(ssl_); }

bool TlsChannel::resumed() const { return SSL_session_reused(ssl_) == 1; }

TlsSubject TlsChannel::subject() const {
  const X509* const certificate = SSL_get0_peer_certificate(ssl_);
  if (certificate == nullptr) return {};
  const X509_NAME* const name = X509_get_subject_name(certificate);
  return {.name = Rfc2253(name), .common_name = CommonName(name)};
}

std::string_view TlsChannel::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

std::string_view TlsChannel::Open(std::string_view sealed, std::span<char> buffer) {
  assert(buffer.size() >= sealed.size() + kMaxBuffered);
  if (state_ == State::kEnded || state_ == State::kFailed || sealed.empty()) return {};
  if (!std::exchange(heard_, true) && sealed.front() != kHandshakeRecord) {
    state_ = State::kFailed;
    failure_ = TlsFailure::kNotTls;
    output_ += context_->options().plain_answer;
    return {};
  }
  input_ = sealed;
  ForgetErrors();
  std::size_t size = 0;
  std::size_t read = 0;
  // Until OpenSSL has taken everything and asks for more.
  while (SSL_read_ex(ssl_, buffer.data() + size, buffer.size() - size, &read) == 1) size += read;
  if (!established_ && SSL_is_init_finished(ssl_) == 1) {
    established_ = true;
    state_ = State::kOpen;
  }
  switch (SSL_get_error(ssl_, 0)) {
    case SSL_ERROR_WANT_READ:
      break;
    case SSL_ERROR_ZERO_RETURN:
      state_ = State::kEnded;
      break;
    default:
      Fail();
  }
  input_ = {};
  return {buffer.data(), size};
}

bool TlsChannel::Seal(std::string_view plain) {
  assert(established_);
  ForgetErrors();
  std::size_t written = 0;
  if (plain.empty() || SSL_write_ex(ssl_, plain.data(), plain.size(), &written) == 1) return true;
  Fail();
  return false;
}

bool TlsChannel::End() {
  if (!established_ || state_ == State::kFailed || std::exchange(ended_, true)) return false;
  ForgetErrors();
  SSL_shutdown(ssl_);
  return !output().empty();
}

void TlsChannel::Sent(std::size_t bytes) {
  sent_ += bytes;
  assert(sent_ <= output_.size());
  if (sent_ < output_.size()) return;
  sent_ = 0;
  output_.clear();
  if (output_.capacity() > kKeptBytes) std::string().swap(output_);
}

void TlsChannel::Fail() {
  state_ = State::kFailed;
  failure_ = FailureOf(ERR_peek_error());
  ERR_clear_error();
}

TlsFailure TlsChannel::FailureOf(unsigned long error) const {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return TlsFailure::kBroken;
  const int reason = ERR_GET_REASON(error);
  // Alerts that the client sent have their number above this.
  if (reason >= SSL_AD_REASON_OFFSET) return TlsFailure::kRefused;
  switch (reason) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return TlsFailure::kNothingShared;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return TlsFailure::kNoCertificate;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return TlsFailure::kBadCertificate;
    default:
      return TlsFailure::kBroken;
  }
}

}  // namespace sluice::net

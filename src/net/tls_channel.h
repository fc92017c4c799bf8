#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <openssl/types.h>

#include "net/tls_context.h"

namespace sluice::net {

/// The subject of a client's verified certificate.
struct TlsSubject {
  std::string name{};  ///< The whole subject in the format of RFC 2253; empty: no certificate.
  std::string common_name{};  ///< The CN, if present and printable.
};

/// The reason of a failed TLS connection.
enum class TlsFailure : std::uint8_t {
  kNotTls,         ///< The first bytes are not TLS.
  kNothingShared,  ///< No common version, cipher or ALPN protocol.
  kNoCertificate,  ///< The client sent none, although one is required.
  kBadCertificate,
  kRefused,  ///< Aborted by the client; most do not trust the server's certificate.
  kBroken,   ///< A violation of the protocol, or corrupted data.
};

/// The server's side of one TLS connection without its socket: bytes in, bytes out. Lives on one
/// thread; never blocks. Buffers incomplete records, at most 16 KiB.
class TlsChannel {
 public:
  enum class State : std::uint8_t {
    kHandshake,
    kOpen,
    kEnded,  ///< The client has closed its direction; output is still possible.
    kFailed,
  };
  /// Maximum plain text of an Open beyond the size of its input, from buffered records.
  static constexpr std::size_t kMaxBuffered = std::size_t{17} << 10;

  explicit TlsChannel(std::shared_ptr<const TlsContext> context);
  ~TlsChannel();
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;

  [[nodiscard]] State state() const { return state_; }
  /// True once the handshake has succeeded.
  [[nodiscard]] bool established() const { return established_; }
  /// Valid in kFailed.
  [[nodiscard]] TlsFailure failure() const { return failure_; }
  [[nodiscard]] const TlsContext& context() const { return *context_; }

  // ---- Once established.

  [[nodiscard]] bool resumed() const;
  [[nodiscard]] TlsSubject subject() const;
  /// The protocol selected by ALPN; empty: none.
  [[nodiscard]] std::string_view protocol() const;

  /// Decrypts input from the network. Returns the plain text in `buffer`, which must be
  /// kMaxBuffered bytes larger than `sealed`. Handshake messages and alerts are appended to the
  /// output.
  std::string_view Open(std::string_view sealed, std::span<char> buffer);

  /// Encrypts `plain` and appends it to the output. Precondition: established. Returns false if the
  /// channel has failed.
  bool Seal(std::string_view plain);

  /// Appends the close_notify alert to the output. Returns false if it was sent before, or can't
  /// be.
  bool End();

  /// Encrypted bytes to be sent; the caller reports with Sent how many were.
  [[nodiscard]] std::string_view output() const { return std::string_view(output_).substr(sent_); }
  void Sent(std::size_t bytes);

 private:
  friend struct TlsPipe;

  void Fail();
  [[nodiscard]] TlsFailure FailureOf(unsigned long error) const;

  std::shared_ptr<const TlsContext> context_;
  SSL* ssl_;
  State state_ = State::kHandshake;
  TlsFailure failure_ = TlsFailure::kBroken;
  bool heard_ = false;
  bool established_ = false;
  bool ended_ = false;      // close_notify was sent.
  std::string_view input_;  // Unprocessed input while Open runs.
  std::string output_;
  std::size_t sent_ = 0;  // Bytes of the output that were sent.
};

}  // namespace sluice::net

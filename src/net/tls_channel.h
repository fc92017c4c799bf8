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

/// The identity in a client's verified certificate.
struct TlsSubject {
  std::string name{};         ///< The whole subject as RFC 2253 writes it; empty: no certificate.
  std::string common_name{};  ///< Its CN, if it has one that can be printed.
};

/// Why there is no TLS with a client.
enum class TlsFailure : std::uint8_t {
  kNotTls,         ///< The first bytes are not TLS.
  kNothingShared,  ///< No version, cipher or ALPN protocol that both would speak.
  kNoCertificate,  ///< The client showed none, and had to.
  kBadCertificate,
  kRefused,  ///< The client broke off; most don't trust our certificate.
  kBroken,   ///< The peer violates the protocol, or its data was tampered with.
};

/// The server's side of one TLS connection without its socket: bytes in, bytes out. Lives on one
/// thread, and never waits. It buffers incomplete records, 16 KiB at most.
class TlsChannel {
 public:
  enum class State : std::uint8_t {
    kHandshake,
    kOpen,
    kEnded,  ///< The client will say nothing more, but may be talked to.
    kFailed,
  };
  /// More plain text than there are sealed bytes may come out: what had been held back.
  static constexpr std::size_t kMostHeldBack = std::size_t{17} << 10;

  explicit TlsChannel(std::shared_ptr<const TlsContext> context);
  ~TlsChannel();
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;

  [[nodiscard]] State state() const { return state_; }
  /// Whether the handshake has succeeded at some time.
  [[nodiscard]] bool established() const { return established_; }
  /// Of meaning in kFailed.
  [[nodiscard]] TlsFailure failure() const { return failure_; }
  [[nodiscard]] const TlsContext& context() const { return *context_; }

  // ---- Once established.

  [[nodiscard]] bool resumed() const;
  [[nodiscard]] TlsSubject subject() const;
  /// The protocol that ALPN chose; empty: none.
  [[nodiscard]] std::string_view protocol() const;

  /// Takes all of what came over the network, and returns what the client said with it, in `room`,
  /// which has kMostHeldBack bytes more than `sealed`. What is to be answered, by a handshake or an
  /// alert, is added to the output.
  std::string_view Open(std::string_view sealed, std::span<char> room);

  /// Adds to the output what the client shall read. Only once established. False: it has failed.
  bool Seal(std::string_view plain);

  /// Adds the farewell. False: it has been said, or can't be.
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
  bool ended_ = false;      // By us.
  std::string_view input_;  // Not read yet, while Open runs.
  std::string output_;
  std::size_t sent_ = 0;  // So much of the output.
};

}  // namespace sluice::net

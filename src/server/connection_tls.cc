#include "server/connection.h"

// The part of a connection that has TLS.

namespace sluice::server {
namespace {

using telemetry::TlsHandshake;
using State = net::TlsChannel::State;

// What the kernel is likely to take: what is sealed lies there twice.
constexpr std::size_t kSealedAtOnce = std::size_t{64} << 10;

TlsHandshake ResultOf(net::TlsFailure failure) {
  switch (failure) {
    case net::TlsFailure::kNotTls:
      return TlsHandshake::kNotTls;
    case net::TlsFailure::kNothingShared:
      return TlsHandshake::kNothingShared;
    case net::TlsFailure::kNoCertificate:
      return TlsHandshake::kNoCertificate;
    case net::TlsFailure::kBadCertificate:
      return TlsHandshake::kBadCertificate;
    case net::TlsFailure::kRefused:
      return TlsHandshake::kRefused;
    case net::TlsFailure::kBroken:
      return TlsHandshake::kBroken;
  }
  return TlsHandshake::kBroken;
}

}  // namespace

void Connection::TakeSealed(std::string_view bytes) {
  if (lingering_) return;
  const bool was_established = tls_->established();
  const std::string_view plain = tls_->Open(bytes, all_.plain_buffer_);
  if (!was_established) OnHandshake();
  if (!plain.empty()) Take(plain);
  if (tls_->state() == State::kEnded) OnEndOfInput();
  if (tls_->state() == State::kFailed && tls_->established()) {
    if (!blocked_) WriteSome();  // The alert, if it can go at once.
    Close(&all_.counters_.tls_broken);
  }
}

void Connection::OnHandshake() {
  if (tls_->established()) {
    const net::ClientCertificates asked = tls_->context().options().client_certificates;
    Count(tls_->resumed() ? TlsHandshake::kResumed : TlsHandshake::kDone);
    BeginSession({.asked_for_certificate = asked != net::ClientCertificates::kOff,
                  .subject = tls_->subject()});
  } else if (tls_->state() == State::kFailed) {
    Count(ResultOf(tls_->failure()));
    session_->Drain();
  }
}

void Connection::Count(TlsHandshake result) { all_.counters_.handshakes[result].Add(); }

bool Connection::InHandshake() const { return tls_ && tls_->state() == State::kHandshake; }

void Connection::WriteSealed() {
  const std::string_view output = session_->output();
  while (!blocked_ && !closed_) {
    if (tls_->output().empty()) {
      const std::string_view next = output.substr(written_, kSealedAtOnce);
      if (next.empty()) return;
      if (!tls_->Seal(next)) return Close(&all_.counters_.tls_broken);
      written_ += next.size();
    }
    tls_->Sent(Send(tls_->output()));
  }
}

}  // namespace sluice::server

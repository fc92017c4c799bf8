#include <utility>

#include "transport/connection.h"

// The part of a connection that has TLS.

namespace sluice::transport {
namespace {

using State = net::TlsChannel::State;

// What the kernel is likely to take: what is sealed lies there twice.
constexpr std::size_t kSealedAtOnce = std::size_t{64} << 10;

// A number that stands for an address, for all of a /64 of IPv6.
std::uint64_t OriginOf(const std::optional<Address>& address) {
  if (!address) return 0;
  return address->is_v4() ? address->low : address->high;
}

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

// In a handshake bytes are read when its turn comes: see Connections::RunHandshakes.
bool Connection::WaitsForHandshakeTurn() {
  if (!handshake_ || handshake_->has_turn || !InHandshake() || proxy_header_ || closed())
    return false;
  HandshakeQueue::Entry& entry = *handshake_;
  if (entry.connection == nullptr) {
    entry.connection = this;
    entry.origin =
        OriginOf(facts_.proxied_for ? facts_.proxied_for : AddressOf(facts_.peer.bytes()));
    // Of a proxy that does not tell for whom it speaks, one client could spend what all have.
    entry.has_budget =
        !facts_.proxied_for && (facts_.peer.family() == net::PeerAddress::Family::kUnix ||
                                all_.admission_.IsProxy(facts_.peer));
  }
  if (entry.is_queued && entry.queued_at != all_.loop_.Now() && input_ != Input::kOpen) {
    Close(nullptr);  // Its client has waited for long enough, and leaves.
  } else {
    all_.QueueHandshake(*this);
  }
  return true;
}

void Connection::RunHandshake() {
  handshake_->has_turn = true;
  const bool waited = handshake_->queued_at != all_.loop_.Now();
  // The client would not read the answer, which is what costs.
  if (waited && input_ != Input::kOpen) return Close(nullptr);
  if (const std::string input = std::exchange(handshake_->input, {}); !input.empty()) {
    TakeSealed(input);
  }
  if (!closed()) Read();
  if (handshake_) handshake_->has_turn = false;
}

void Connection::TakeSealed(std::string_view bytes) {
  if (lingering()) return;
  if (WaitsForHandshakeTurn()) {  // They came with the header of a proxy.
    handshake_->input += bytes;
    return;
  }
  const bool was_established = tls_->established();
  const std::string_view plain = tls_->Open(bytes, all_.plain_buffer_);
  if (!was_established) OnHandshake();
  if (!plain.empty()) Take(plain);
  if (tls_->state() == State::kEnded) OnEndOfInput();
  if (tls_->state() == State::kFailed && tls_->established()) {
    if (!blocked()) WriteSome();  // The alert, if it can go at once.
    Close(&all_.counters_.tls.broken);
  }
}

void Connection::OnHandshake() {
  if (tls_->established()) {
    all_.handshakes_.Succeeded(*handshake_);
    handshake_.reset();
    const net::ClientCertificates asked = tls_->context().options().client_certificates;
    Count(tls_->resumed() ? TlsHandshake::kResumed : TlsHandshake::kDone);
    facts_.is_encrypted = true;
    facts_.asked_for_certificate = asked != net::ClientCertificates::kOff;
    facts_.subject = tls_->subject();
    BeginSession();
  } else if (tls_->state() == State::kFailed) {
    Count(ResultOf(tls_->failure()));
    session_->Drain();
  }
}

void Connection::Count(TlsHandshake result) { all_.counters_.tls.handshakes[result].Add(); }

bool Connection::InHandshake() const { return tls_ && tls_->state() == State::kHandshake; }

void Connection::WriteSealed() {
  const std::string_view output = session_->output();
  while (!blocked() && !closed()) {
    if (tls_->output().empty()) {
      const std::string_view next = output.substr(written_, kSealedAtOnce);
      if (next.empty()) return;
      if (!tls_->Seal(next)) return Close(&all_.counters_.tls.broken);
      written_ += next.size();
    }
    tls_->Sent(Send(tls_->output()));
  }
}

}  // namespace sluice::transport

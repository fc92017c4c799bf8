#include "server/connection.h"

#include <cerrno>
#include <utility>

#include <sys/socket.h>

#include "server/handshake_session.h"

namespace sluice::server {
namespace {

using telemetry::TlsHandshake;

constexpr std::uint32_t kInput = EPOLLIN | EPOLLRDHUP | EPOLLET;
constexpr std::uint32_t kEnding = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

// Reads in a turn that fill the buffer; after that it is others' turn.
constexpr int kMostReadsPerTurn = 4;
// Of an output buffer, for the next answers. What grew larger was an exception.
constexpr std::size_t kKeptOutputBytes = std::size_t{64} << 10;
// Who connects while the server ends has its first request on the way.
constexpr Micros kFirstRequestGrace = std::chrono::milliseconds(500);

}  // namespace

Connection::Connection(Connections& all, net::Fd socket, const net::PeerAddress& peer,
                       std::unique_ptr<net::TlsChannel> tls)
    : all_(all),
      socket_(std::move(socket)),
      peer_(peer),
      tls_(std::move(tls)),
      active_(all.loop_.Now()),
      request_began_(active_) {
  if (all.proxies_ != nullptr && all.proxies_->TrustsPeer(AddressOf(peer.bytes()))) {
    proxy_header_ = std::make_unique<identity::ProxyProtocolReader>();
  }
  if (tls_ || proxy_header_) {
    session_ = std::make_unique<HandshakeSession>();
  } else {
    BeginSession({});
  }
  all_.loop_.Watch(socket_.get(), kInput, *this);
}

Connection::~Connection() {
  if (!closed_) all_.loop_.Unwatch(socket_.get(), *this);
}

void Connection::OutputReady() {
  if (!closed_) all_.WriteAtTurnEnd(*this);
}

void Connection::OnReady(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0 && blocked_) {
    blocked_ = false;
    all_.WriteAtTurnEnd(*this);
  }
  if ((events & kEnding) != 0) peer_ending_ = true;
  if ((events & (EPOLLIN | kEnding)) != 0) {
    readable_ = true;
    Read();
  }
}

bool Connection::WantsToRead() const {
  if (lingering_) return true;
  return !peer_ended_ && !session_->closing() && !session_->held_back() &&
         unwritten() < all_.limits_.soft_output_bytes &&
         session_->pending() < all_.limits_.max_pending;
}

void Connection::Read() {
  std::vector<char>& buffer = all_.read_buffer_;
  for (int i = 0; i < kMostReadsPerTurn && readable_ && !closed_ && WantsToRead(); ++i) {
    const ssize_t count = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count > 0) {
      std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
      all_.counters_.bytes_in.Add(bytes.size());
      if (proxy_header_) TakeProxyHeader(bytes);
      if (bytes.empty()) {
        // All of it was the proxy's.
      } else if (tls_) {
        TakeSealed(bytes);
      } else {
        Take(bytes);
      }
      // Less than there was room for: that was all, and epoll will tell of more. Only of the end it
      // may have told already.
      if (static_cast<std::size_t>(count) < buffer.size() && !peer_ending_) readable_ = false;
    } else if (count == 0) {
      OnEndOfInput();
    } else if (errno == EAGAIN) {
      readable_ = false;
    } else if (errno != EINTR) {
      Close(&all_.counters_.reset);
    }
  }
  if (!closed_) all_.WriteAtTurnEnd(*this);
}

void Connection::BeginSession(ConnectionFacts facts) {
  facts.peer = peer_;
  facts.proxied_for = proxied_for_;
  facts.is_proxied = is_proxied_;
  session_ = all_.make_session_(*this, facts);
}

// Takes it off the bytes; what is left is the connection's own.
void Connection::TakeProxyHeader(std::string_view& bytes) {
  using Status = identity::ProxyProtocolReader::Status;
  const Status status = proxy_header_->Read(bytes);
  if (status == Status::kDone) {
    proxied_for_ = proxy_header_->source();
    is_proxied_ = true;
    proxy_header_.reset();
    if (!tls_) BeginSession({});
  } else {
    bytes = {};
    if (status == Status::kError) Close(&all_.counters_.bad_proxy_header);
  }
}

void Connection::Take(std::string_view bytes) {
  if (lingering_) return;
  active_ = all_.loop_.Now();
  heard_ = true;
  const bool was_in_request = session_->in_request();
  const std::size_t output_before = session_->output().size();
  const std::size_t pending_before = session_->pending();
  session_->Receive(bytes);
  // Where something was answered, or will be, a request has ended: one that is under way now is
  // another.
  if (!was_in_request || session_->output().size() > output_before ||
      session_->pending() > pending_before) {
    request_began_ = active_;
  }
}

void Connection::OnEndOfInput() {
  readable_ = false;
  peer_ended_ = true;
  if (lingering_) Close(nullptr);
}

void Connection::Write() {
  if (closed_) return;
  if (!lingering_) {
    if (!blocked_) WriteSome();
    if (closed_) return;
    if (unwritten() > all_.limits_.hard_output_bytes) {
      return Close(&all_.counters_.output_overflow);
    }
    // Where it waits for the store, too, it goes on by itself.
    if (session_->held_back() && session_->pending() == 0 && unwritten() == 0) {
      session_->Resume();
      all_.WriteAtTurnEnd(*this);
    }
    if (IsOver()) {
      if (tls_ && tls_->End()) WriteSome();  // TLS has its own farewell.
      if (!closed_ && unwritten() == 0) End();
      return;
    }
  }
  if (readable_ && WantsToRead()) all_.ReadNextTurn(*this);
}

void Connection::WriteSome() {
  could_write_ = all_.loop_.Now();
  if (tls_) {
    WriteSealed();
  } else {
    WriteOutput();
  }
  if (closed_) return;
  DropWritten();
  if (blocked_ && !watches_out_) {
    watches_out_ = true;  // From now on: who was slow once will be again.
    all_.loop_.ChangeWatch(socket_.get(), kInput | EPOLLOUT, *this);
  }
}

void Connection::WriteOutput() {
  const std::string& output = session_->output();
  while (written_ < output.size() && !blocked_ && !closed_) {
    written_ += Send(std::string_view(output).substr(written_));
  }
}

// How much the kernel took. Where it takes no more, the connection is blocked or closed.
std::size_t Connection::Send(std::string_view bytes) {
  const ssize_t count = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count >= 0) {
    all_.counters_.bytes_out.Add(static_cast<std::uint64_t>(count));
    active_ = all_.loop_.Now();
    answered_ = true;
    return static_cast<std::size_t>(count);
  }
  if (errno == EAGAIN) {
    blocked_ = true;
  } else if (errno != EINTR) {
    Close(&all_.counters_.reset);
  }
  return 0;
}

void Connection::DropWritten() {
  std::string& output = session_->output();
  if (written_ == output.size()) {
    written_ = 0;
    output.clear();
    if (output.capacity() > kKeptOutputBytes) std::string().swap(output);
  } else if (written_ >= kKeptOutputBytes && written_ >= output.size() / 2) {
    output.erase(0, written_);
    written_ = 0;
  }
}

// Whether all has been said that will be.
bool Connection::IsOver() const {
  return (session_->closing() || peer_ended_) && !session_->held_back() &&
         session_->pending() == 0 && unwritten() == 0;
}

void Connection::End() {
  // With input that we have not read, closing would reset the connection, and the client might lose
  // our last answer. Where none was given there is nothing to lose.
  if (peer_ended_ || !answered_ || all_.limits_.linger <= Micros{0}) return Close(nullptr);
  shutdown(socket_.get(), SHUT_WR);
  lingering_ = true;
  lingers_since_ = all_.loop_.Now();
  if (readable_) all_.ReadNextTurn(*this);
}

void Connection::Drain() {
  if (drained_ || closed_) return;
  if (!heard_ && all_.loop_.Now() < active_ + kFirstRequestGrace) {
    readable_ = true;
    Read();
    if (!heard_ || closed_) return;
  }
  drained_ = true;
  readable_ = true;
  Read();
  if (closed_) return;
  // Who has been quiet for long is not about to lose anything.
  if (all_.loop_.Now() - active_ >= all_.limits_.linger) answered_ = false;
  session_->Drain();
  all_.WriteAtTurnEnd(*this);
}

void Connection::CheckTime(SteadyTime now) {
  if (closed_) return;
  if (!lingering_) {
    session_->LookAtTime(now);
    if (session_->closing() || unwritten() > 0) all_.WriteAtTurnEnd(*this);
  }
  const ConnectionLimits& limits = all_.limits_;
  const auto over = [now](SteadyTime since, Micros limit) {
    return limit > Micros{0} && now - since >= limit;
  };
  if (lingering_) {
    if (over(lingers_since_, limits.linger)) Close(nullptr);
  } else if (unwritten() > 0 && !InHandshake()) {
    // What is not blocked is on its way: it is written when this turn ends.
    if (blocked_ && over(could_write_, limits.write_timeout)) Close(&all_.counters_.slow_closed);
  } else if (session_->pending() > 0) {
    return;  // It waits for us.
  } else if (session_->in_request()) {
    if (over(request_began_, limits.request_timeout)) Close(&all_.counters_.slow_closed);
  } else if (over(active_, limits.idle_timeout)) {
    Close(&all_.counters_.idle_closed);
  }
}

void Connection::Close(Counter* why) {
  if (closed_) return;
  closed_ = true;
  if (why != nullptr) why->Add();
  if (InHandshake()) {
    const bool slow = why == &all_.counters_.slow_closed;
    Count(slow ? TlsHandshake::kTimeout : TlsHandshake::kAbandoned);
  }
  all_.loop_.Unwatch(socket_.get(), *this);
  socket_.Close();
  all_.Bury(*this);
}

}  // namespace sluice::server

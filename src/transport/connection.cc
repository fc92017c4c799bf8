#include "transport/connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/socket.h>

#include "transport/handshake_session.h"

namespace sluice::transport {
namespace {

constexpr std::uint32_t kInput = EPOLLIN | EPOLLRDHUP | EPOLLET;
constexpr std::uint32_t kEnding = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

// Maximum number of full reads per turn.
constexpr int kMostReadsPerTurn = 4;
// Capacity of an output buffer that is kept for further responses.
constexpr std::size_t kKeptOutputBytes = std::size_t{64} << 10;
// A client that connects during a drain may have sent its first request.
constexpr Micros kFirstRequestGrace = std::chrono::milliseconds(500);

}  // namespace

Connection::Connection(Connections& all, net::Fd socket, const net::PeerAddress& peer,
                       std::unique_ptr<net::TlsChannel> tls, std::optional<Refusal> refusal)
    : all_(all),
      socket_(std::move(socket)),
      tls_(std::move(tls)),
      handshake_(tls_ ? std::make_unique<HandshakeQueue::Entry>() : nullptr),
      refusal_(refusal),
      accepted_(all.loop_.Now()),
      active_(accepted_),
      request_began_(accepted_) {
  facts_.peer = peer;
  facts_.is_reserved = is_reserved();
  share_ = transport::TurnShare(all.limits_.turn_requests);
  if (all.proxies_ != nullptr && all.proxies_->TrustsPeer(AddressOf(peer.bytes()))) {
    proxy_header_ = std::make_unique<identity::ProxyProtocolReader>();
  }
  if (tls_ || proxy_header_) {
    session_ = std::make_unique<HandshakeSession>();
  } else {
    BeginSession();
  }
  all_.loop_.Watch(socket_.get(), kInput, *this);
}

Connection::~Connection() {
  if (!closed()) all_.loop_.Unwatch(socket_.get(), *this);
}

void Connection::OutputReady() {
  if (!closed()) all_.WriteAtTurnEnd(*this);
}

void Connection::CountExceeded(ResourceBound bound) { all_.counters_.bounds_exceeded[bound].Add(); }

void Connection::BeginWork() {
  if (const SteadyTime now = all_.loop_.Now(); now != turn_) {
    turn_ = now;
    share_.Renew(all_.turn_time_);
  }
  share_.Begin();
}

void Connection::OnReady(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0 && blocked()) {
    output_ = Output::kUnblocked;
    all_.WriteAtTurnEnd(*this);
  }
  if ((events & kEnding) != 0 && input_ == Input::kOpen) input_ = Input::kEnding;
  if ((events & (EPOLLIN | kEnding)) != 0) {
    readable_ = true;
    Read();
  }
}

bool Connection::WantsToRead() const {
  if (lingering()) return true;
  return input_ != Input::kEnded && !session_->closing() &&
         session_->pause() == transport::PauseReason::kNone &&
         unwritten() < all_.limits_.soft_output_bytes &&
         session_->pending() < all_.limits_.max_pending && session_->MayAskStore() &&
         !HoldsTooMuch();
}

bool Connection::HoldsTooMuch() const {
  return held_ > MemoryBudget::kFreeBytes && all_.memory_.is_short();
}

void Connection::GoOn() {
  using transport::PauseReason;
  const PauseReason pause = session_->pause();
  if (pause == PauseReason::kTurn || pause == PauseReason::kStore) session_->Resume();
  Read();
}

bool Connection::MayGoOn() const {
  return closed() || (session_->MayAskStore() && !HoldsTooMuch());
}

void Connection::Read() {
  if (WaitsForHandshakeTurn()) return;
  std::vector<char>& buffer = all_.read_buffer_;
  for (int i = 0; i < kMostReadsPerTurn && readable_ && !closed() && WantsToRead(); ++i) {
    const ssize_t count = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count > 0) {
      std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
      all_.counters_.bytes_in.Add(bytes.size());
      if (proxy_header_) TakeProxyHeader(bytes);
      if (bytes.empty()) {
        // All bytes belonged to the PROXY header.
      } else if (tls_) {
        TakeSealed(bytes);
      } else {
        Take(bytes);
      }
      // Less than there was room for: that was all, and epoll will report more. Only the end may
      // have been reported already.
      if (static_cast<std::size_t>(count) < buffer.size() && input_ == Input::kOpen)
        readable_ = false;
    } else if (count == 0) {
      OnEndOfInput();
    } else if (errno == EAGAIN) {
      readable_ = false;
    } else if (errno != EINTR) {
      Close(&all_.counters_.reset);
    }
  }
  if (!closed()) all_.WriteAtTurnEnd(*this);
}

void Connection::BeginSession() { session_ = all_.make_session_(*this, facts_); }

// Removes the PROXY header from the bytes.
void Connection::TakeProxyHeader(std::string_view& bytes) {
  using Status = identity::ProxyProtocolReader::Status;
  const Status status = proxy_header_->Read(bytes);
  if (status == Status::kDone) {
    facts_.proxied_for = proxy_header_->source();
    facts_.is_proxied = true;
    proxy_header_.reset();
    if (!tls_) BeginSession();
  } else {
    bytes = {};
    if (status == Status::kError) Close(&all_.counters_.bad_proxy_header);
  }
}

void Connection::Take(std::string_view bytes) {
  if (lingering()) return;
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
  input_ = Input::kEnded;
  if (lingering()) Close(nullptr);
}

void Connection::Write() {
  if (closed()) return;
  if (!lingering()) {
    if (!blocked()) WriteSome();
    if (closed()) return;
    if (unwritten() > all_.limits_.hard_output_bytes) {
      return Close(&all_.counters_.bounds_exceeded[ResourceBound::kOutputBuffer]);
    }
    // Where it waits for the store, too, it goes on by itself.
    if (session_->held_back() && session_->pending() == 0 && unwritten() == 0) {
      session_->Resume();
      all_.WriteAtTurnEnd(*this);
    }
    if (IsOver()) {
      if (tls_ && tls_->End()) WriteSome();  // TLS has its own farewell.
      if (!closed() && unwritten() == 0) End();
      return;
    }
    CountHeld();
  }
  PlanNext();
}

// Schedules the continuation of buffered requests, unless pending output or a store call will
// resume them.
void Connection::PlanNext() {
  using transport::PauseReason;
  const PauseReason pause = lingering() ? PauseReason::kNone : session_->pause();
  const bool waits =
      pause == PauseReason::kStore || (pause == PauseReason::kNone && readable_ && !lingering());
  const bool has_input = pause == PauseReason::kTurn || (readable_ && WantsToRead());
  if (!has_input && waits && !MayGoOn()) {
    all_.GoOnLater(*this);
  } else if (has_input || pause == PauseReason::kStore) {  // kStore: there is room by now.
    all_.GoOnNextTurn(*this);
  }
}

void Connection::CountHeld() {
  const std::size_t held = session_->held_bytes() + (tls_ ? tls_->output().size() : 0);
  if (std::max(held, held_) - std::min(held, held_) < MemoryBudget::kStep) return;
  all_.memory_.Change(held_, held);
  held_ = held;
}

void Connection::WriteSome() {
  could_write_ = all_.loop_.Now();
  if (tls_) {
    WriteSealed();
  } else {
    WriteOutput();
  }
  if (closed()) return;
  DropWritten();
}

void Connection::WriteOutput() {
  const std::string& output = session_->output();
  while (written_ < output.size() && !blocked() && !closed()) {
    written_ += Send(std::string_view(output).substr(written_));
  }
}

// Returns the number of bytes written. Sets the connection to blocked, or closes it, if the kernel
// accepts no more.
std::size_t Connection::Send(std::string_view bytes) {
  const ssize_t count = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count >= 0) {
    all_.counters_.bytes_out.Add(static_cast<std::uint64_t>(count));
    active_ = all_.loop_.Now();
    answered_ = true;
    return static_cast<std::size_t>(count);
  }
  if (errno == EAGAIN) {
    // Stays registered for EPOLLOUT: a slow client usually blocks again.
    if (output_ == Output::kFree) {
      all_.loop_.ChangeWatch(socket_.get(), kInput | EPOLLOUT, *this);
    }
    output_ = Output::kBlocked;
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

// Returns whether the session is done and all output is written.
bool Connection::IsOver() const {
  const bool has_more = session_->pause() != transport::PauseReason::kNone;
  return (session_->closing() || (input_ == Input::kEnded && !has_more)) &&
         session_->pending() == 0 && unwritten() == 0;
}

void Connection::End() {
  // Closing with unread input resets the connection, and the client might lose the last response,
  // if there was one.
  if (input_ == Input::kEnded || !answered_ || all_.limits_.linger <= Micros{0})
    return Close(nullptr);
  shutdown(socket_.get(), SHUT_WR);
  phase_ = Phase::kLingering;
  lingers_since_ = all_.loop_.Now();
  if (readable_) all_.GoOnNextTurn(*this);
}

void Connection::Drain() {
  if (phase_ != Phase::kServing) return;
  if (!heard_ && all_.loop_.Now() < active_ + kFirstRequestGrace) {
    readable_ = true;
    Read();
    if (!heard_ || closed()) return;
  }
  phase_ = Phase::kDraining;
  readable_ = true;
  Read();
  if (closed()) return;
  // Who has been quiet for long is not about to lose anything.
  if (all_.loop_.Now() - active_ >= all_.limits_.linger) answered_ = false;
  session_->Drain();
  all_.WriteAtTurnEnd(*this);
}

void Connection::CheckTime(SteadyTime now) {
  if (closed()) return;
  if (is_reserved() && ReserveTimeIsOver(now)) return GiveWay();
  if (!lingering()) {
    session_->OnTimer(now);
    if (session_->closing() || unwritten() > 0) all_.WriteAtTurnEnd(*this);
  }
  const ConnectionLimits& limits = all_.limits_;
  const auto over = [now](SteadyTime since, Micros limit) {
    return limit > Micros{0} && now - since >= limit;
  };
  if (lingering()) {
    if (over(lingers_since_, limits.linger)) Close(nullptr);
  } else if (unwritten() > 0 && !InHandshake()) {
    // Unless it is blocked, the output is written when this turn ends.
    if (blocked() && over(could_write_, limits.write_timeout))
      Close(&all_.counters_.bounds_exceeded[ResourceBound::kSlowRequest]);
  } else if (session_->pending() > 0) {
    return;  // It waits for us.
  } else if (session_->in_request()) {
    if (over(request_began_, limits.request_timeout))
      Close(&all_.counters_.bounds_exceeded[ResourceBound::kSlowRequest]);
  } else if (!heard_ && all_.crowded_ && over(active_, limits.request_timeout)) {
    Close(&all_.counters_.bounds_exceeded[ResourceBound::kSilent]);
  } else if (over(active_, limits.idle_timeout)) {
    Close(&all_.counters_.bounds_exceeded[ResourceBound::kIdle]);
  }
}

void Connection::Close(Counter* why) {
  if (closed()) return;
  phase_ = Phase::kClosed;
  if (why != nullptr) why->Add();
  all_.memory_.Change(std::exchange(held_, 0), 0);
  if (InHandshake()) {
    const bool slow = why == &all_.counters_.bounds_exceeded[ResourceBound::kSlowRequest];
    Count(slow ? TlsHandshake::kTimeout : TlsHandshake::kAbandoned);
  }
  if (handshake_) all_.handshakes_.Remove(*handshake_);
  if (is_reserved()) CountReserved();
  all_.loop_.Unwatch(socket_.get(), *this);
  socket_.Close();
  all_.Bury(*this);
}

}  // namespace sluice::transport

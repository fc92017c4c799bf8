// How a connection uses its breaker.

#include "redis/connection.h"
#include "redis/error_reply.h"

namespace sluice::redis {
namespace {

// Timeouts shorter than this don't count as failures of the server, nor do callers' own deadlines
// while it answers others: callers with short timeouts must not open the breaker for all.
constexpr Micros kHurry = std::chrono::milliseconds(5);
// Idle time after which an open breaker is probed.
constexpr Micros kProbeInterval = std::chrono::seconds(1);
constexpr std::string_view kPing = "*1\r\n$4\r\nPING\r\n";

}  // namespace

void Client::Connection::ReportReply(resp::Value reply, SteadyTime pushed) {
  if (reply.is_error() && IsUnwell(CodeOf(reply))) {
    last_failure_ = reply.text();
    return breaker_.Failed(loop_.Now());
  }
  breaker_.Succeeded(loop_.Now(), std::chrono::duration_cast<Micros>(loop_.Now() - pushed));
}

void Client::Connection::ReportExpired(std::span<const CallQueue::Ended> expired) {
  for (const CallQueue::Ended& call : expired) {
    const bool others_answered = call.callers_deadline && last_data_ > call.pushed;
    // Not the time that passed: a loop that is late would blame the server.
    if (call.deadline - call.pushed >= kHurry && !others_answered) {
      last_failure_ = call.ran == Execution::kNotSent ? "took no command before the deadline"
                                                      : "no reply before the deadline";
      breaker_.Failed(loop_.Now());
    } else {
      breaker_.Abandoned();
    }
  }
}

// A lost connection is one failure, however many calls were pending.
void Client::Connection::ReportLost(std::size_t calls) {
  if (calls == 0) return;
  for (std::size_t i = 1; i < calls; ++i) breaker_.Abandoned();
  breaker_.Failed(loop_.Now());
}

void Client::Connection::ReportBreaker() {
  stats_.breaker_opened.Set(breaker_.opened());
  const Breaker::State now = breaker_.state();
  const Breaker::State before = reported_breaker_.load(std::memory_order_relaxed);
  if (now == before) return;
  reported_breaker_.store(now, std::memory_order_relaxed);
  if (now == Breaker::State::kClosed) {
    try_.Cancel();
  } else if (before == Breaker::State::kClosed) {
    try_.Set(loop_.Now() + kProbeInterval);
  }
  if (on_breaker_change_) on_breaker_change_({address_, before, now, ReasonOf(now)});
}

// Returns the reason of the change, for logs.
std::string Client::Connection::ReasonOf(Breaker::State now) const {
  if (now == Breaker::State::kClosed) return address_ + ": answers again";
  if (!last_error_.empty()) return last_error_;
  if (now == Breaker::State::kHalfOpen) return address_ + ": a few calls are let through to try it";
  // A breaker with `slow` opens without any failure.
  return address_ + ": " + (last_failure_.empty() ? "replies are too slow" : last_failure_);
}

void Client::Connection::ProbeIfIdle() {
  try_.Set(loop_.Now() + kProbeInterval);
  const SteadyTime asked = last_asked_;
  if (state() != State::kReady || loop_.Now() < asked + kProbeInterval) return;
  Send(kPing, loop_.Now() + options_.connect_timeout, [](const Answer&) {});
  last_asked_ = asked;
}

}  // namespace sluice::redis

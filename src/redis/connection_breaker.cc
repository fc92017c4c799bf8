// How a connection uses its breaker.

#include "redis/connection.h"
#include "redis/error_reply.h"

namespace sluice::redis {
namespace {

// Who gave up sooner than this was in a hurry; it says nothing of the server. Hurried callers must
// not open a breaker for all others.
constexpr Micros kHurry = std::chrono::milliseconds(5);
// If nobody asks for so long, a breaker that is not closed is tried without them.
constexpr Micros kIdle = std::chrono::seconds(1);
constexpr std::string_view kPing = "*1\r\n$4\r\nPING\r\n";

}  // namespace

void Client::Connection::TellBreaker(resp::Value reply, SteadyTime pushed) {
  if (reply.is_error() && IsUnwell(CodeOf(reply))) return breaker_.Failed(loop_.Now());
  breaker_.Succeeded(loop_.Now(), std::chrono::duration_cast<Micros>(loop_.Now() - pushed));
}

void Client::Connection::TellBreakerOfExpired(std::span<const CallQueue::Ended> expired) {
  for (const CallQueue::Ended& call : expired) {
    if (loop_.Now() - call.pushed >= kHurry) {
      breaker_.Failed(loop_.Now());
    } else {
      breaker_.Abandoned();
    }
  }
}

// A connection that ends is one failure, however many calls it takes along.
void Client::Connection::TellBreakerOfLost(std::size_t calls) {
  if (calls == 0) return;
  for (std::size_t i = 1; i < calls; ++i) breaker_.Abandoned();
  breaker_.Failed(loop_.Now());
}

void Client::Connection::TellOfBreaker() {
  counters_.breaker_opened.Set(breaker_.opened());
  const Breaker::State now = breaker_.state();
  const Breaker::State before = told_breaker_.load(std::memory_order_relaxed);
  if (now == before) return;
  told_breaker_.store(now, std::memory_order_relaxed);
  if (now == Breaker::State::kClosed) {
    try_.Cancel();
  } else if (before == Breaker::State::kClosed) {
    try_.Set(loop_.Now() + kIdle);
  }
  if (on_breaker_change_) on_breaker_change_({address_, before, now, last_error_});
}

void Client::Connection::TryIfIdle() {
  try_.Set(loop_.Now() + kIdle);
  const SteadyTime asked = last_asked_;
  if (state() != State::kReady || loop_.Now() < asked + kIdle) return;
  Send(kPing, loop_.Now() + options_.connect_timeout, [](const Answer&) {});
  last_asked_ = asked;
}

}  // namespace sluice::redis

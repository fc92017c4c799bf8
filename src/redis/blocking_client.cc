#include "redis/blocking_client.h"

#include <future>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "net/timer.h"
#include "redis/slot.h"

namespace sluice::redis {
namespace {

// Pause before a retry.
constexpr Micros kRetryPause = std::chrono::milliseconds(20);

}  // namespace

/// Shared: the loop's thread may still use it when the caller has gone.
struct BlockingClient::PendingCall {
  std::string_view command;  ///< The caller's, until the promise is kept.
  SteadyTime deadline;
  Route route{};
  std::promise<CallResult> promise{};
  std::optional<net::Timer> retry{};
};

BlockingClient::BlockingClient(const Options& options) {
  thread_.Do([&] { service_ = MakeService(thread_.loop(), options); });
}

BlockingClient::~BlockingClient() {
  thread_.Do([&] { service_.reset(); });
}

CallResult BlockingClient::Call(std::string_view command, Micros timeout, std::string_view key) {
  const auto call = std::make_shared<PendingCall>(command, SteadyClock::Now() + timeout);
  if (service_->has_slots()) call->route.slot = SlotOf(key);
  std::future<CallResult> result = call->promise.get_future();
  thread_.loop().Post([this, call] { Send(call); });
  return result.get();
}

void BlockingClient::Send(const std::shared_ptr<PendingCall>& call) {
  service_->Send(call->route, call->command, call->deadline,
                 [this, call](const Answer& answer) { OnAnswer(call, answer); });
}

void BlockingClient::OnAnswer(const std::shared_ptr<PendingCall>& call, const Answer& answer) {
  const bool failed = !answer || answer.reply().is_error();
  const RetryAdvice next = failed ? service_->AdviceFor(answer, call->route) : RetryAdvice::kGiveUp;
  const SteadyTime later = thread_.loop().Now() + kRetryPause;
  if (next == RetryAdvice::kNow && thread_.loop().Now() < call->deadline) return Send(call);
  if (next != RetryAdvice::kGiveUp && later < call->deadline) {
    call->retry.emplace(thread_.loop(), [this, call] { Send(call); });
    return call->retry->Set(later);
  }
  call->retry.reset();  // Its action owns the call.
  call->promise.set_value(answer ? CallResult(resp::Reply(answer.reply()))
                                 : CallResult(answer.error()));
}

}  // namespace sluice::redis

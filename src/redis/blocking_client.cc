#include "redis/blocking_client.h"

#include <future>
#include <memory>
#include <utility>

#include "base/clock.h"

namespace sluice::redis {

BlockingClient::BlockingClient(Options options) {
  thread_.Do([&] { client_ = std::make_unique<Client>(thread_.loop(), std::move(options)); });
}

BlockingClient::~BlockingClient() {
  thread_.Do([&] { client_.reset(); });
}

CallResult BlockingClient::Call(std::string_view command, Micros timeout) {
  const SteadyTime deadline = SteadyClock::Now() + timeout;
  // Shared: whoever sets the value may still be busy with it when the waiter has gone.
  const auto promise = std::make_shared<std::promise<CallResult>>();
  std::future<CallResult> result = promise->get_future();
  thread_.loop().Post(
      [this, command, deadline, promise] {  // The caller keeps `command` until then.
        client_->Send(command, deadline, [promise](const Answer& answer) {
          promise->set_value(answer ? CallResult(resp::Reply(answer.reply()))
                                    : CallResult(answer.error()));
        });
      });
  return result.get();
}

}  // namespace sluice::redis

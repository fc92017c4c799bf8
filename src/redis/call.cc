#include "redis/call.h"

namespace sluice::redis {

const char* FailureName(Failure failure) noexcept {
  switch (failure) {
    case Failure::kQueueFull:
      return "queue_full";
    case Failure::kNotConnected:
      return "not_connected";
    case Failure::kBreakerOpen:
      return "breaker_open";
    case Failure::kRefused:
      return "refused";
    case Failure::kTimeout:
      return "timeout";
    case Failure::kConnectionLost:
      return "connection_lost";
    case Failure::kProtocol:
      return "protocol";
    case Failure::kClosed:
      return "closed";
  }
  return "unknown";
}

}  // namespace sluice::redis

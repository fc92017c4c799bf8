#include "server/heartbeat.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "redis/slot.h"
#include "resp/encoder.h"

namespace sluice::server {
namespace {

// No limit's key is called so: those go on with a brace.
constexpr std::string_view kKey = "sluice:v1:servers";
constexpr std::string_view kScript = R"(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - 3000))
redis.call('PEXPIRE', KEYS[1], 3000)
return redis.call('ZCOUNT', KEYS[1], '-inf', '+inf'))";

constexpr Micros kInterval = std::chrono::milliseconds(900);
constexpr std::uint64_t kJitter = 200'000;  // Up to so many µs more: not all at the same time.
constexpr Micros kPatience = std::chrono::milliseconds(500);
// In a cluster, until somebody has the slot.
constexpr int kMostTries = 5;

}  // namespace

std::uint32_t ServerCount::Hear(std::uint32_t counted, SteadyTime now) {
  counted = std::max(counted, std::uint32_t{1});
  if (counted < count_ && now < confirmed_ + kDoubt) return count_;
  count_ = counted;
  confirmed_ = now;
  return count_;
}

Heartbeat::Heartbeat(net::Loop& loop, redis::Service& service,
                     std::function<void(std::uint32_t)> on_count)
    : loop_(loop),
      service_(service),
      on_count_(std::move(on_count)),
      next_(loop, [this] { Beat(); }) {
  resp::AppendCommand(command_, {"EVAL", kScript, "1", kKey, std::to_string(RandomId())});
  Beat();
}

void Heartbeat::Beat() {
  next_.Set(loop_.Now() + kInterval + Micros(static_cast<std::int64_t>(RandomId() % kJitter)));
  route_ = {.slot = service_.has_slots() ? redis::SlotOf(kKey) : std::uint16_t{0}};
  tries_ = 0;
  Send();
}

void Heartbeat::Send() {
  ++tries_;
  service_.Send(route_, command_, loop_.Now() + kPatience,
                [this](const redis::Answer& answer) { Hear(answer); });
}

void Heartbeat::Hear(const redis::Answer& answer) {
  if (answer && answer.reply().type() == resp::Type::kInteger) {
    return on_count_(
        count_.Hear(static_cast<std::uint32_t>(answer.reply().integer()), loop_.Now()));
  }
  if (service_.Judge(answer, route_) == redis::Next::kNow && tries_ < kMostTries) Send();
}

}  // namespace sluice::server

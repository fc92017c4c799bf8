#include "lease/redis/heartbeat.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "redis/slot.h"
#include "resp/encoder.h"

namespace sluice::lease {
namespace {

// Differs from all limits' keys, which continue with a brace.
constexpr std::string_view kKey = "sluice:v1:servers";
constexpr std::string_view kScript = R"(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - 3000))
redis.call('PEXPIRE', KEYS[1], 3000)
return {redis.call('ZCOUNT', KEYS[1], '-inf', '+inf'), time[1] * 1000000 + time[2]})";

constexpr Micros kInterval = std::chrono::milliseconds(900);
constexpr std::uint64_t kJitter = 200'000;  // µs; spreads the heartbeats.
constexpr Micros kHeartbeatTimeout = std::chrono::milliseconds(500);
// In a cluster, until a node has the slot.
constexpr int kMaxTries = 5;

}  // namespace

std::uint32_t PeerCount::Update(std::uint32_t counted, SteadyTime now) {
  counted = std::max(counted, std::uint32_t{1});
  if (counted < count_ && now < confirmed_ + kConfirmation) return count_;
  count_ = counted;
  confirmed_ = now;
  return count_;
}

Micros ClockOffset::Update(WallTime sent, WallTime received, WallTime redis_time) {
  if (received < sent) return ahead_;  // This machine's clock was set back meanwhile.
  ahead_ = std::clamp(ahead_, redis_time - received, redis_time - sent);
  return ahead_;
}

Heartbeat::Heartbeat(net::Loop& loop, redis::Service& service, HeartbeatListener on_answer)
    : loop_(loop),
      service_(service),
      on_answer_(std::move(on_answer)),
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
  sent_ = TheSystemClock().Now();
  service_.Send(route_, command_, loop_.Now() + kHeartbeatTimeout,
                [this](const redis::Answer& answer) { OnReply(answer); });
}

void Heartbeat::OnReply(const redis::Answer& answer) {
  if (answer && answer.reply().type() == resp::Type::kArray && answer.reply().size() == 2) {
    std::int64_t numbers[2] = {};
    std::size_t i = 0;
    for (const resp::Value number : answer.reply()) numbers[i++] = number.integer();
    const std::uint32_t peers = count_.Update(static_cast<std::uint32_t>(numbers[0]), loop_.Now());
    return on_answer_(peers,
                      clock_.Update(sent_, TheSystemClock().Now(), WallTime(Micros(numbers[1]))));
  }
  if (service_.AdviceFor(answer, route_) == redis::RetryAdvice::kNow && tries_ < kMaxTries) Send();
}

}  // namespace sluice::lease

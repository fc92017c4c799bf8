#include "usual_way.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace sluice::bench {

const std::string_view kUsualScript = R"lua(
local capacity, rate, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'last_refill')
local tokens, last_refill = tonumber(bucket[1]) or capacity, tonumber(bucket[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - last_refill) * rate)
local allowed = tokens >= cost
if allowed then tokens = tokens - cost end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'last_refill', now)
redis.call('EXPIRE', KEYS[1], math.ceil(capacity / rate))
return {allowed and 1 or 0, math.floor(tokens)}
)lua";

std::string UsualRate(std::int64_t per_hour) {
  std::ostringstream rate;
  rate.precision(12);
  rate << static_cast<double>(per_hour) / 3600;
  return rate.str();
}

double UsualChecksPerSecond(const UsualRun& run) {
  std::ostringstream command;
  command << "redis-benchmark -h 127.0.0.1 -p " << run.port << " --csv -c 1 -P " << run.depth
          << " -n " << run.checks << " -r " << run.keys << " EVALSHA " << run.sha
          << " 1 bucket:__rand_int__ " << run.capacity << ' ' << UsualRate(run.per_hour)
          << " 1 2>&1";
  std::FILE* pipe = popen(command.str().c_str(), "r");  // NOLINT(cert-env33-c)
  std::string output;
  if (pipe != nullptr) {
    std::array<char, 4096> part;
    while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe)) {
      output.append(part.data(), n);
    }
  }
  // A line of headings, then a line of figures in quotes: the test's name (the command, which holds
  // no quotes), requests per second, latencies.
  const bool ended_well = pipe != nullptr && pclose(pipe) == 0;
  const std::size_t heading = output.find("\"test\",\"rps\"");
  const std::size_t line = output.find('\n', heading);
  const std::size_t figure = output.find("\",\"", line);
  if (!ended_well || heading == std::string::npos || line == std::string::npos ||
      figure == std::string::npos) {
    std::fprintf(stderr, "bench_redis: `%s` printed:\n%s\n", command.str().c_str(), output.c_str());
    std::exit(1);
  }
  return std::strtod(output.c_str() + figure + 3, nullptr);
}

}  // namespace sluice::bench

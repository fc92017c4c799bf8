#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "base/metrics.h"
#include "net/fd.h"
#include "statsd/statsd_lines.h"

namespace sluice::statsd {

struct SenderMetrics {
  std::uint64_t sent = 0;
  std::uint64_t dropped = 0;

  static constexpr auto Metrics() {
    using enum MetricType;
    using S = SenderMetrics;
    return std::tuple{Metric{kCounter, "rate_limiter_statsd_datagrams_total",
                             "Datagrams sent to the StatsD receiver.", &S::sent},
                      Metric{kCounter, "rate_limiter_statsd_datagrams_dropped_total",
                             "Datagrams that the system did not take.", &S::dropped}};
  }
};
static_assert(HasAllMetrics<SenderMetrics>);

struct SenderOptions {
  std::string host{};  ///< A name or an address.
  std::string port{};
  std::string unix_path{};  ///< Of a datagram socket; takes precedence.
  Format format = Format::kDogstatsd;
  std::string prefix{};  ///< Before every name.
  std::vector<std::pair<std::string, std::string>> labels{};
  Micros interval = std::chrono::seconds(10);
};

/// Parses `HOST:PORT`, `[::1]:8125` or `unix:/PATH` into the options.
[[nodiscard]] Result<bool> ReadAddress(std::string_view text, SenderOptions& options);

/// Sends metrics as datagrams, on a thread of its own. Sending never waits:
/// what the system does not take at once is dropped and counted.
class Sender {
 public:
  using WriteMetrics = std::function<void(telemetry::MetricSink&)>;

  explicit Sender(SenderOptions options) : options_(std::move(options)) {}
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  void Start(WriteMetrics write_metrics);
  /// Sends a last time and ends. Returns false if it takes longer: a name is
  /// being looked up.
  [[nodiscard]] bool TryStop(Micros timeout);
  /// From any thread.
  [[nodiscard]] SenderMetrics Metrics() const;

 private:
  void Run();
  void Export();
  [[nodiscard]] bool Connect();

  const SenderOptions options_;
  WriteMetrics write_metrics_;
  LastValues last_;
  net::Fd socket_;  ///< Connected, or none.

  mutable std::mutex mutex_;  ///< Of the members up to the next blank line.
  std::condition_variable wake_;
  SenderMetrics metrics_;
  bool stopping_ = false;

  std::promise<void> stopped_;
  std::future<void> done_ = stopped_.get_future();
  std::thread thread_;
};

}  // namespace sluice::statsd

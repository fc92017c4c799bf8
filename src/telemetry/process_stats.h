#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/metrics.h"

namespace sluice::telemetry {

struct ProcessStats {
  std::chrono::nanoseconds cpu{0};
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t open_fds = 0;
  std::uint64_t max_fds = 0;
  double start_time_seconds = 0;  ///< Since the epoch.

  static constexpr auto Metrics() {
    using enum MetricType;
    using S = ProcessStats;
    return std::tuple{
        Metric{kCounter, "process_cpu_seconds_total", "User and system time.", &S::cpu},
        Metric{kGauge, "process_resident_memory_bytes", "Resident memory.", &S::resident_bytes},
        Metric{kGauge, "process_virtual_memory_bytes", "Address space, reserved or used.",
               &S::virtual_bytes},
        Metric{kGauge, "process_open_fds", "Open file descriptors.", &S::open_fds},
        Metric{kGauge, "process_max_fds", "Maximum number of open file descriptors.", &S::max_fds},
        Metric{kGauge, "process_start_time_seconds", "When the process started.",
               &S::start_time_seconds}};
  }
};

/// Reads the statistics of this process; nothing if the system does not have them.
[[nodiscard]] std::optional<ProcessStats> ReadProcess();

}  // namespace sluice::telemetry

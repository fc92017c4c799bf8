#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "base/clock.h"
#include "base/key_hash.h"
#include "base/labels.h"
#include "base/metrics.h"
#include "telemetry/log_every.h"
#include "telemetry/log_line.h"

namespace sluice::telemetry {

struct LogOptions {
  LogFormat format = LogFormat::kText;
  LogLevel level = LogLevel::kInfo;  ///< Can be changed later.
  int fd = 2;                        ///< Where lines go; stays open as long as the log lives.
};

/// What happened, for people and for what collects it: a line each, as text or JSON. Thread-safe.
///
/// A line is given to the system whole, before Write returns, so the last words of a process that
/// dies are there. But Write never waits for a full pipe, socket or terminal: the line is
/// dropped and counted, and the next line that gets through is followed by one that says how many.
///
///     log.Write(LogLevel::kInfo, "listening", {{"protocol", "http"}, {"port", 8080}});
///     log.Write(LogLevel::kWarn, "login failed", {{"api_key", HashedKey{key}}});
class Log {
 public:
  explicit Log(const LogOptions& options, const Clock& clock = TheSystemClock());

  /// From the next line on, in all threads.
  // Relaxed: that a thread learns of it a moment later does no harm.
  void set_level(LogLevel level) { level_.store(level, std::memory_order_relaxed); }
  [[nodiscard]] LogLevel level() const { return level_.load(std::memory_order_relaxed); }

  /// Whether lines of this level are written: for those who would have to prepare something.
  [[nodiscard]] bool Wants(LogLevel level) const { return level <= this->level(); }

  void Write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields = {}) noexcept;

  /// For what may happen again and again: writes it if `every` says that it is time, with a field
  /// `suppressed` if it was not written before.
  void Write(LogEvery& every, SteadyTime now, LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields = {}) noexcept;

  /// Lines that were written, by level; the number of those that were dropped.
  [[nodiscard]] EnumArray<LogLevel, std::uint64_t> Lines() const;
  [[nodiscard]] std::uint64_t dropped() const;
  static constexpr auto Metrics() {
    using enum MetricType;
    return std::tuple{Metric{kCounter, "rate_limiter_log_lines_total", "Log lines written.",
                             &Log::Lines, "level"},
                      Metric{kCounter, "rate_limiter_log_lines_dropped_total",
                             "Log lines dropped because the reader was too slow.", &Log::dropped}};
  }

 private:
  void WriteLine(LogLevel level, std::string_view message, std::initializer_list<LogField> fields,
                 std::uint64_t suppressed) noexcept;
  /// Whether all of it went, or a part, whose rest goes before the next line.
  bool Send(std::string_view line);
  bool SendRest();
  [[nodiscard]] std::size_t TryWrite(std::string_view bytes) const;

  const LogFormat format_;
  const int fd_;
  const bool is_socket_;
  const Clock& clock_;
  const KeyHasher hasher_;
  std::atomic<LogLevel> level_;

  mutable std::mutex mutex_;  ///< Of what follows; held while a line is given to the system.
  std::string line_;
  std::string rest_;  ///< Of a line that went only in part.
  EnumArray<LogLevel, std::uint64_t> lines_;
  std::uint64_t dropped_ = 0;
  std::uint64_t dropped_unreported_ = 0;
};

}  // namespace sluice::telemetry

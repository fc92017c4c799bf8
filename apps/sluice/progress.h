#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"

namespace sluice::app {

/// A line on standard error that shows how far something is, rewritten a few times a second.
class Progress {
 public:
  /// `total` is what Show counts up to, if that is known.
  Progress(std::optional<std::uint64_t> total, SteadyTime start)
      : total_(total), start_(start), next_(start) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(std::uint64_t done, std::uint64_t calls, SteadyTime now);
  /// Takes the line away, for other lines.
  void Clear();

 private:
  std::optional<std::uint64_t> total_;
  SteadyTime start_;
  SteadyTime next_;
  bool shown_ = false;
};

/// The line: "[=====>    ]  52 %  1200000 calls, 800000/s, 2 s left".
[[nodiscard]] std::string ProgressLine(std::uint64_t done, std::optional<std::uint64_t> total,
                                       std::uint64_t calls, Micros since_start);

}  // namespace sluice::app

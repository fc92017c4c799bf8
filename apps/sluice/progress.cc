#include "progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace sluice::app {
namespace {

constexpr Micros kPause = std::chrono::milliseconds(100);
constexpr std::size_t kBarWidth = 30;

}  // namespace

std::string ProgressLine(std::uint64_t done, std::optional<std::uint64_t> total,
                         std::uint64_t calls, Micros since_start) {
  const double seconds = std::max(std::chrono::duration<double>(since_start).count(), 1e-6);
  std::string line;
  std::string left;
  if (total && *total > 0) {
    const double part = std::min(static_cast<double>(done) / static_cast<double>(*total), 1.0);
    const auto filled = static_cast<std::size_t>(part * kBarWidth);
    std::string percent = std::to_string(static_cast<int>(100 * part));
    percent.insert(0, 3 - percent.size(), ' ');
    line = '[' + std::string(filled, '=') + (filled < kBarWidth ? ">" : "") +
           std::string(kBarWidth - std::min(filled + 1, kBarWidth), ' ') + "] " + percent + " %  ";
    if (part > 0) {
      const double remaining = std::ceil(seconds * (1 - part) / part);
      left = ", " + std::to_string(static_cast<std::int64_t>(remaining)) + " s left";
    }
  }
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(calls) / seconds);
  return line + std::to_string(calls) + " calls, " + std::to_string(rate) + "/s" + left;
}

void Progress::Show(std::uint64_t done, std::uint64_t calls, SteadyTime now) {
  if (now < next_) return;
  next_ = now + kPause;
  std::fprintf(stderr, "\r%s\033[K", ProgressLine(done, total_, calls, now - start_).c_str());
  shown_ = true;
}

void Progress::Clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace sluice::app

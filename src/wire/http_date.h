#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include <sluice/time.h>

namespace sluice::wire {

/// The value of the Date header, "Sun, 06 Nov 1994 08:49:37 GMT", written once per second. Belongs
/// to one thread.
class HttpDate {
 public:
  /// Valid until the next call in another second.
  [[nodiscard]] std::string_view At(WallTime now) {
    const auto second = std::chrono::floor<std::chrono::seconds>(now);
    if (second != second_) Write(second);
    return {text_.data(), text_.size()};
  }

 private:
  void Write(std::chrono::sys_seconds second);

  std::chrono::sys_seconds second_ = std::chrono::sys_seconds::min();
  std::array<char, 29> text_{};
};

}  // namespace sluice::wire

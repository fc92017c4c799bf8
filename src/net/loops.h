#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "net/loop.h"

namespace sluice::net {

/// The event loops that serve, each with its thread. Their number never changes.
class Loops {
 public:
  /// 0: one for each core that this process may use.
  explicit Loops(std::size_t count);

  [[nodiscard]] std::size_t size() const { return loops_.size(); }
  [[nodiscard]] Loop& operator[](std::size_t index) { return loops_[index]->thread.loop(); }

  /// Lets each loop run the function, in a later turn, with the loop's number. From any thread.
  void Post(const std::function<void(std::size_t index)>& function);
  /// The same, and waits for all. Not from one of the loops.
  void Do(const std::function<void(std::size_t index)>& function);

  /// Whether every loop has made a turn since the last call (or since it was made). From one
  /// thread.
  bool TakePulse();

 private:
  struct Member {
    // Before the thread, which uses it.
    std::atomic<std::uint64_t> pulse{0};
    std::uint64_t asked = 0;
    LoopThread thread;
  };
  std::vector<std::unique_ptr<Member>> loops_;
};

}  // namespace sluice::net

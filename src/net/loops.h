#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "net/loop.h"

namespace sluice::net {

/// A fixed number of event loops, each with its own thread.
class Loops {
 public:
  /// 0: one per core available to this process.
  explicit Loops(std::size_t count);

  [[nodiscard]] std::size_t size() const { return loops_.size(); }
  [[nodiscard]] Loop& operator[](std::size_t index) { return loops_[index]->thread.loop(); }

  /// Runs the function on each loop, in a later turn, with the loop's index. May be called from any
  /// thread.
  void Post(const std::function<void(std::size_t index)>& function);
  /// Runs the function on each loop and waits for all. Must not be called from one of the loops.
  void Do(const std::function<void(std::size_t index)>& function);

  /// Returns whether every loop has made a turn since the last call (or since construction). Must
  /// be called from one thread.
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

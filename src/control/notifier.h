#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace sluice::control {

/// The callback of a store's notifications. Thread-safe: after Set returns, the callback before is
/// not running and never will be.
class Notifier {
 public:
  void Set(std::function<void()> callback) {
    const std::lock_guard lock(mutex_);
    callback_ = std::move(callback);
  }
  void Notify() {
    const std::lock_guard lock(mutex_);
    if (callback_) callback_();
  }

 private:
  std::mutex mutex_;
  std::function<void()> callback_;
};

}  // namespace sluice::control

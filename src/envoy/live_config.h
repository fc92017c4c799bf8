#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sluice/time.h>

#include "envoy/config.h"
#include "envoy/reader.h"
#include "rules/file_watcher.h"
#include "rules/live_rules.h"
#include "rules/mistake.h"

namespace sluice::envoy {

/// What can be asked about the configuration of a process.
struct ConfigStatus {
  std::uint64_t version = 0;  ///< 0: there is none yet.
  std::string fingerprint;    ///< SHA-256 of the files' names and texts.
  WallTime since{};           ///< When it came into force.
  std::size_t domains = 0;
  std::size_t limits = 0;
  WallTime last_good_load{};               ///< Also of content that was in force already.
  std::vector<rules::Mistake> last_error;  ///< All mistakes of the last load that failed.
  WallTime last_error_at{};
  bool failing = false;  ///< The last load failed: what is in force is not what the files say.
  std::uint64_t good_loads = 0;
  std::uint64_t failed_loads = 0;
};

/// The configuration in force. A new one replaces it whole; one with mistakes leaves it as it is.
/// Thread-safe: loads wait for each other, readers (ConfigReader) never wait for a load.
class LiveConfig {
 public:
  explicit LiveConfig(ReadOptions options = {}) : options_(std::move(options)) {}
  LiveConfig(const LiveConfig&) = delete;
  LiveConfig& operator=(const LiveConfig&) = delete;

  rules::LoadReport Load(std::span<const SourceFile> files, WallTime now);
  /// The same with what a watcher of a directory told. What can't be read is a failed load.
  rules::LoadReport Load(const rules::FileChange& change, WallTime now);

  [[nodiscard]] ConfigStatus Status() const;
  /// Null if there is none yet.
  [[nodiscard]] std::shared_ptr<const Config> Active() const;

 private:
  friend class ConfigReader;

  rules::LoadReport Refuse(std::vector<rules::Mistake> mistakes, WallTime now);

  const ReadOptions options_;
  std::mutex loading_;        ///< One load at a time. Taken before `mutex_`.
  mutable std::mutex mutex_;  ///< Of all that follows; never held for long.
  std::shared_ptr<const Config> active_;
  ConfigStatus status_;
  std::atomic<std::uint64_t> generation_{0};  ///< The version in force.
};

/// One thread's view of the configuration in force: one atomic load for each use, and a lock only
/// after a change. Each thread has its own; the LiveConfig must outlive it.
class ConfigReader {
 public:
  explicit ConfigReader(const LiveConfig& live) : live_(&live) {}

  /// Null if there is none yet. Good until the next Get.
  const Config* Get() {
    // Acquire is enough: what a new number stands for is read under the lock.
    if (live_->generation_.load(std::memory_order_acquire) != generation_) Refresh();
    return config_.get();
  }
  /// What the last Get gave, to be held for longer, as by a call that waits for a store.
  [[nodiscard]] const std::shared_ptr<const Config>& held() const { return config_; }

 private:
  void Refresh();

  const LiveConfig* live_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const Config> config_;
};

}  // namespace sluice::envoy

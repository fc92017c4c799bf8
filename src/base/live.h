#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/time.h>

#include "base/watched_files.h"

/// Configuration that is replaced while the process runs:
///
///     Live<RuleSet> live;                                   // one for all threads
///     live.Load("rules.yaml", fingerprint, now, [&] { return Read(text); });
///
///     LiveReader<RuleSet> reader(live);                     // one for each thread
///     const Snapshot<RuleSet> rules = reader.Get();         // a request owns its snapshot
namespace sluice {

enum class LoadOutcome : std::uint8_t {
  kActivated,
  kUnchanged,  ///< The content equals that of the active version.
  kRefused,    ///< The previous version stays active.
};

struct LoadReport {
  LoadOutcome outcome = LoadOutcome::kRefused;
  std::uint64_t version = 0;  ///< The active version after the load.
  std::vector<std::string> errors{};
  std::vector<std::string> warnings{};
};

struct LiveStatus {
  std::uint64_t version = 0;  ///< The active version; 0: none yet.
  WallTime last_good_load{};  ///< Including loads of unchanged content.
  /// All errors of the last failed load. Shared, because there may be many.
  std::shared_ptr<const std::vector<std::string>> last_error =
      std::make_shared<const std::vector<std::string>>();
  WallTime last_error_at{};
  bool failing = false;  ///< The last load failed: the active version differs from the files.
  std::uint64_t good_loads = 0;
  std::uint64_t failed_loads = 0;
};

/// The active version or an earlier one.
template <typename T>
struct LiveVersion {
  std::uint64_t number = 0;  ///< 1, 2, …; never used twice. 0: none yet.
  std::string fingerprint{};
  std::string source{};        ///< Origin of the content: a file, a directory.
  WallTime since{};            ///< When it became active.
  std::uint64_t restores = 0;  ///< The version that a rollback restored, or 0.
  std::shared_ptr<const T> value{};
};

/// The result of reading content: a value, or errors.
template <typename T>
struct LiveCandidate {
  std::shared_ptr<const T> value{};  ///< Null if refused.
  std::vector<std::string> errors{};
  std::vector<std::string> warnings{};
};

template <typename T>
class LiveReader;

/// An immutable value that is replaced as a whole, with its versions and the status of its loads.
/// Thread-safe: loads are serialized, readers never wait for a load.
template <typename T>
class Live {
 public:
  /// Keeps `keep` versions before the active one for rollback.
  explicit Live(std::size_t keep = 0) : keep_(keep) {}
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  /// Activates the value of `read()`, which returns a LiveCandidate<T>; without a value, the
  /// previous version stays. `read` is not called if the fingerprint equals that of the active
  /// version; an empty fingerprint is unknown.
  template <typename Read>
  // NOLINTNEXTLINE(performance-unnecessary-value-param): moved into the version.
  LoadReport Load(std::string source, std::string fingerprint, WallTime now, const Read& read) {
    const std::lock_guard loading(loading_);
    if (const auto version = RefreshActive(fingerprint, now)) {
      return {.outcome = LoadOutcome::kUnchanged, .version = *version};
    }
    LiveCandidate<T> candidate = read();
    if (candidate.value == nullptr) return Refuse(std::move(candidate.errors), now);
    std::optional<LiveVersion<T>> dropped;  // Destroyed after the lock is released.
    const std::lock_guard lock(mutex_);
    dropped = Activate({.fingerprint = std::move(fingerprint),
                        .source = std::move(source),
                        .since = now,
                        .value = std::move(candidate.value)});
    CountGoodLoad(now);
    return {.outcome = LoadOutcome::kActivated,
            .version = status_.version,
            .warnings = std::move(candidate.warnings)};
  }

  /// Records a failed load.
  LoadReport Refuse(std::vector<std::string> errors, WallTime now) {
    auto kept = std::make_shared<const std::vector<std::string>>(errors);
    const std::lock_guard lock(mutex_);
    status_.last_error.swap(kept);  // The old list is destroyed after the lock is released.
    status_.last_error_at = now;
    status_.failing = true;
    ++status_.failed_loads;
    return {.version = status_.version, .errors = std::move(errors)};
  }
  /// Records a failed load because files can't be read.
  LoadReport Refuse(const FileChange& unreadable, WallTime now) {
    return Refuse(std::vector{unreadable.path + ": " + unreadable.error}, now);
  }

  /// Activates the content of a kept version as a new version, until a load with different content.
  /// Returns the number of the new version, or of the active one if it has the same content;
  /// nothing if the version is not kept.
  std::optional<std::uint64_t> Rollback(std::uint64_t version, WallTime now) {
    const std::lock_guard loading(loading_);
    std::optional<LiveVersion<T>> dropped;
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(versions_.begin(), versions_.end(),
                                    [&](const auto& kept) { return kept.number == version; });
    if (found == versions_.end()) return std::nullopt;
    if (found->fingerprint == versions_.back().fingerprint) return status_.version;
    LiveVersion<T> again = *found;
    again.since = now;
    again.restores = version;
    dropped = Activate(std::move(again));
    return status_.version;
  }

  [[nodiscard]] LiveStatus Status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  /// Returns the kept versions; the last is the active one.
  [[nodiscard]] std::vector<LiveVersion<T>> Versions() const {
    const std::lock_guard lock(mutex_);
    return {versions_.begin(), versions_.end()};
  }
  /// Returns the active version; number 0 and a null value if there is none yet.
  [[nodiscard]] LiveVersion<T> Active() const {
    const std::lock_guard lock(mutex_);
    return versions_.empty() ? LiveVersion<T>{} : versions_.back();
  }

 private:
  friend class LiveReader<T>;

  /// Returns the active version if it has this fingerprint, and counts the load.
  std::optional<std::uint64_t> RefreshActive(const std::string& fingerprint, WallTime now) {
    const std::lock_guard lock(mutex_);
    if (versions_.empty() || fingerprint.empty() || versions_.back().fingerprint != fingerprint) {
      return std::nullopt;
    }
    CountGoodLoad(now);
    return status_.version;
  }

  // With `mutex_` held:
  void CountGoodLoad(WallTime now) {
    status_.last_good_load = now;
    status_.failing = false;
    ++status_.good_loads;
  }
  /// Returns the version that is no longer kept.
  std::optional<LiveVersion<T>> Activate(LiveVersion<T> version) {
    version.number = ++status_.version;
    versions_.push_back(std::move(version));
    // Release pairs with the reader's acquire; the value itself is read under the lock.
    generation_.store(status_.version, std::memory_order_release);
    if (versions_.size() <= keep_ + 1) return std::nullopt;
    std::optional<LiveVersion<T>> oldest = std::move(versions_.front());
    versions_.pop_front();
    return oldest;
  }

  const std::size_t keep_;
  std::mutex loading_;                   ///< One load at a time. Taken before `mutex_`.
  mutable std::mutex mutex_;             ///< Guards the members below; never held for long.
  std::deque<LiveVersion<T>> versions_;  ///< The active one is the last.
  LiveStatus status_;
  std::atomic<std::uint64_t> generation_{0};  ///< The number of the active version.
};

/// A reference to a version of a configuration on one thread, with a non-atomic count: all copies
/// of a reader's snapshot stay on the reader's thread. May outlive the reader and the Live.
class AnySnapshot {
 public:
  AnySnapshot() = default;
  AnySnapshot(const AnySnapshot& other) : held_(other.held_) {
    if (held_ != nullptr) ++held_->users;
  }
  AnySnapshot(AnySnapshot&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  AnySnapshot& operator=(AnySnapshot other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~AnySnapshot() { Reset(); }

  void Reset() {
    Held* const held = std::exchange(held_, nullptr);
    if (held != nullptr && --held->users == 0) delete held;
  }

 protected:
  struct Held {
    std::shared_ptr<const void> value;
    std::size_t users = 1;
  };
  explicit AnySnapshot(std::shared_ptr<const void> value) : held_(new Held{std::move(value)}) {}

  Held* held_ = nullptr;
};

template <typename T>
class Snapshot : public AnySnapshot {
 public:
  Snapshot() = default;

  /// Returns null if there was no version yet.
  [[nodiscard]] const T* get() const {
    return held_ == nullptr ? nullptr : static_cast<const T*>(held_->value.get());
  }
  const T* operator->() const { return get(); }
  const T& operator*() const { return *get(); }
  explicit operator bool() const { return held_ != nullptr; }
  /// Returns a reference for other threads.
  [[nodiscard]] std::shared_ptr<const T> Share() const {
    return held_ == nullptr ? nullptr : std::static_pointer_cast<const T>(held_->value);
  }

 private:
  friend class LiveReader<T>;
  explicit Snapshot(std::shared_ptr<const T> value) : AnySnapshot(std::move(value)) {}
};

/// One thread's access to a Live: one atomic load per Get, a lock and an allocation only after a
/// change. Each thread has its own; the Live must outlive it.
template <typename T>
class LiveReader {
 public:
  explicit LiveReader(const Live<T>& live) : live_(&live) {}

  /// Returns the active version. The reference is valid until the next Get; copy the snapshot to
  /// keep it.
  const Snapshot<T>& Get() {
    // Acquire pairs with the release in Activate; the value itself is read under the lock.
    if (live_->generation_.load(std::memory_order_acquire) != version_) Refresh();
    return snapshot_;
  }
  /// Returns the snapshot of the last Get.
  [[nodiscard]] const Snapshot<T>& current() const { return snapshot_; }
  /// Returns the version number of the last Get.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  void Refresh() {
    const LiveVersion<T> active = live_->Active();
    version_ = active.number;
    snapshot_ = Snapshot<T>(active.value);
  }

  const Live<T>* live_;
  std::uint64_t version_ = 0;
  Snapshot<T> snapshot_;
};

}  // namespace sluice

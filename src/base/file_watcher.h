#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/watched_files.h"

namespace sluice {

inline constexpr Micros kPollInterval = std::chrono::milliseconds(250);

struct FileWatcherOptions {
  /// A changed file is read once it has not changed for this long: its writer should be done.
  Micros settle = std::chrono::milliseconds(500);
  /// A file that changes all the time is read this long after its first change.
  Micros longest_wait = std::chrono::seconds(3);
  std::size_t max_bytes = std::size_t{256} << 20;
};

/// Detects changes of the content of files: written in place, replaced by a rename, reached through
/// another symbolic link (also of a directory), deleted and created again. Compares inodes, sizes
/// and times, and the content of files that changed in the last seconds. Has no thread.
class FileWatcher {
 public:
  explicit FileWatcher(WatchedFiles files, FileWatcherOptions options = {})
      : files_(std::move(files)), options_(options) {}

  /// Returns the content if it differs from the one returned last; the first time, as it is.
  /// Returns nothing while the files are being written. Expected every kPollInterval.
  std::optional<FileChange> Poll(SteadyTime now);
  /// Returns the current content, even if it was returned before. It may be inconsistent if files
  /// change while they are read; a later Poll returns the change.
  FileChange ReadNow(SteadyTime now);

 private:
  void NoteSignature(std::uint64_t signature, SteadyTime now);
  std::optional<FileChange> Read(SteadyTime now);

  WatchedFiles files_;
  FileWatcherOptions options_;
  std::optional<std::uint64_t> returned_;  ///< Hash of the content returned last.
  std::uint64_t seen_ = 0;                 ///< The signature at the last poll.
  SteadyTime seen_since_{};
  std::optional<SteadyTime> changed_since_;  ///< A change that was not read yet.
};

/// A thread that polls files.
class WatchThread {
 public:
  struct Watch {
    FileWatcher watcher;
    /// Runs on the thread; soon after the start with the content if it was not read before.
    std::function<void(const FileChange&)> on_change;
  };

  /// Throws std::system_error if the system has no threads left.
  explicit WatchThread(std::vector<Watch> watches, Micros interval = kPollInterval);
  /// Waits for a running `on_change`.
  ~WatchThread() = default;
  WatchThread(const WatchThread&) = delete;
  WatchThread& operator=(const WatchThread&) = delete;

 private:
  void Run(const std::stop_token& stop, Micros interval);

  std::vector<Watch> watches_;
  std::jthread thread_;  ///< The last member: it stops before the others are destroyed.
};

}  // namespace sluice

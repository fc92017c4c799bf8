#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "rules/directory_events.h"
#include "rules/watched_path.h"

namespace sluice::rules {

struct FileWatcherOptions {
  /// Changes that follow each other this closely are one.
  Micros pause = std::chrono::milliseconds(50);
  /// How long a writer that does not close the file, nor writes any more, is waited for.
  Micros patience = std::chrono::milliseconds(500);
  /// However busy the file is, it is read so long after a change.
  Micros longest_wait = std::chrono::seconds(3);
  /// How often the file is looked at although nothing was heard: file systems over a network tell
  /// nothing, and the system may have no watches left.
  Micros poll = std::chrono::milliseconds(250);
  /// False: the file is only polled.
  bool listen = true;
  std::size_t max_bytes = std::size_t{256} << 20;
  /// Not empty: it is a directory that is watched, and of it the files whose names end so.
  std::vector<std::string> endings{};
};

/// Notices that the content of a file becomes another, however that is done: written in place,
/// replaced by a rename, a symbolic link on the way (also of a directory) that leads elsewhere,
/// deleted and made anew. Or that of a directory's files, whichever of them it is. Has no thread,
/// and is told what time it is.
class FileWatcher {
 public:
  explicit FileWatcher(std::string path, FileWatcherOptions options = {});

  /// Readable when it is worth to Look; −1 if the file is only polled.
  [[nodiscard]] int descriptor() const { return events_ ? events_->descriptor() : -1; }
  /// When to Look even if nothing becomes readable.
  [[nodiscard]] SteadyTime due() const;
  /// What the file became, if that is something else than what was last told; the first time, what
  /// it is. Nothing while it is being written. Never waits, but for the file system.
  std::optional<FileChange> Look(SteadyTime now);
  /// What the file is, told before or not: for those who need an answer. Where it changes as fast
  /// as it is read, that may be half of it, and Look tells the rest.
  FileChange LookNow(SteadyTime now);

  /// Whether changes are told by the system, as far as can be known.
  [[nodiscard]] bool listening() const { return listening_; }

 private:
  /// A change that is being waited for to be complete.
  struct Unrest {
    SteadyTime since;
    SteadyTime last;
  };

  [[nodiscard]] SteadyTime WhenCalm() const;
  void Stir(SteadyTime now);
  void Poll(SteadyTime now);
  void Listen();
  std::optional<FileChange> Read(SteadyTime now);
  std::optional<FileChange> Tell(FileChange found);

  WatchedPath target_;
  FileWatcherOptions options_;
  std::unique_ptr<DirectoryEvents> events_;  ///< Null: only polled.
  bool listening_ = false;
  bool unfinished_ = false;
  std::optional<Unrest> unrest_;
  std::optional<FileChange> told_;
  WatchedPath::Signature seen_;  ///< Of the last poll.
  SteadyTime next_poll_{};
  /// Until then the file can change and have the same signature.
  SteadyTime doubtful_until_{};
};

/// A thread that watches a file.
class WatchThread {
 public:
  /// `on_change` runs on the thread, and soon, with what the file is. Throws std::system_error if
  /// the system has no descriptors or threads left.
  WatchThread(FileWatcher watcher, std::function<void(const FileChange&)> on_change);
  /// Waits for an `on_change` that is under way, and for nothing else.
  ~WatchThread();
  WatchThread(const WatchThread&) = delete;
  WatchThread& operator=(const WatchThread&) = delete;

 private:
  void Run();

  FileWatcher watcher_;
  std::function<void(const FileChange&)> on_change_;
  int stop_ = -1;  ///< Readable when the thread is to end.
  std::thread thread_;
};

}  // namespace sluice::rules

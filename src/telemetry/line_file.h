#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <sluice/result.h>
#include <sluice/time.h>

namespace sluice::telemetry {

/// Lines for a file, or standard output, written by a thread of its own: a slow disk delays nobody.
/// Lines beyond the bounded queue are dropped and counted. The file is opened again if it was moved
/// or removed (logrotate), or on request. Thread-safe.
class LineFile {
 public:
  static constexpr std::size_t kMaxQueuedBytes = std::size_t{4} << 20;

  /// `path`: "-" is standard output. Fails if the file can't be opened for appending.
  static Result<std::unique_ptr<LineFile>> Open(const std::string& path);
  /// Writes what is queued, however long that takes.
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  /// Queues a line, which ends with a line break. Never waits for the disk.
  void Write(std::string_view line);
  /// Opens the file again before the next line.
  void Reopen();
  /// Writes what is queued, and nothing after it. Returns false if that takes longer.
  bool TryStop(Micros timeout);

  [[nodiscard]] std::uint64_t written() const;
  [[nodiscard]] std::uint64_t dropped() const;
  /// Counts a line that was lost before it got here.
  void CountDropped(std::uint64_t lines);

 private:
  LineFile(std::string path, int fd);
  void Run();
  void WriteOut(const std::string& bytes, std::uint64_t lines);
  void ReopenIfMoved(bool requested);

  const std::string path_;
  int fd_;  ///< Of the thread, once it runs; -1: it could not be opened again.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string queue_;
  std::uint64_t queued_lines_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t dropped_ = 0;
  bool reopen_ = false;
  bool stopping_ = false;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace sluice::telemetry

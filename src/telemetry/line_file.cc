#include "telemetry/line_file.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::telemetry {
namespace {

constexpr std::string_view kStandardOutput = "-";
constexpr mode_t kFileMode = 0640;

int OpenForAppending(const std::string& path) {
  if (path == kStandardOutput) return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  // Of a pipe without a reader this fails, instead of waiting for one.
  const int fd =
      open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, kFileMode);
  if (fd >= 0) fcntl(fd, F_SETFL, O_APPEND);
  return fd;
}

}  // namespace

Result<std::unique_ptr<LineFile>> LineFile::Open(const std::string& path) {
  const int fd = OpenForAppending(path);
  if (fd < 0) {
    return Error{ErrorCode::kInvalidOptions, path + ": " + std::strerror(errno)};
  }
  return std::unique_ptr<LineFile>(new LineFile(path, fd));
}

LineFile::LineFile(std::string path, int fd)
    : path_(std::move(path)), fd_(fd), thread_([this] { Run(); }) {}

LineFile::~LineFile() {
  TryStop(Micros{0});
  thread_.join();
  if (fd_ >= 0) close(fd_);
}

bool LineFile::TryStop(Micros timeout) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  return changed_.wait_for(lock, timeout, [this] { return stopped_; });
}

void LineFile::Write(std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || queue_.size() + line.size() > kMaxQueuedBytes) {
      ++dropped_;
      return;
    }
    queue_ += line;
    ++queued_lines_;
  }
  changed_.notify_all();
}

void LineFile::Reopen() {
  const std::lock_guard lock(mutex_);
  reopen_ = true;
}

std::uint64_t LineFile::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

std::uint64_t LineFile::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void LineFile::CountDropped(std::uint64_t lines) {
  const std::lock_guard lock(mutex_);
  dropped_ += lines;
}

void LineFile::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) {
      stopped_ = true;
      changed_.notify_all();
      return;
    }
    const std::string bytes = std::exchange(queue_, {});
    const std::uint64_t lines = std::exchange(queued_lines_, 0);
    const bool requested = std::exchange(reopen_, false);
    lock.unlock();
    ReopenIfMoved(requested);
    WriteOut(bytes, lines);
    lock.lock();
  }
}

// Before each portion of lines: two system calls for up to megabytes.
void LineFile::ReopenIfMoved(bool requested) {
  if (path_ == kStandardOutput) return;
  struct stat at_path{};
  struct stat ours{};
  const bool same = fd_ >= 0 && stat(path_.c_str(), &at_path) == 0 && fstat(fd_, &ours) == 0 &&
                    at_path.st_ino == ours.st_ino && at_path.st_dev == ours.st_dev;
  if (same && !requested) return;
  if (const int fd = OpenForAppending(path_); fd >= 0) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }
}

void LineFile::WriteOut(const std::string& bytes, std::uint64_t lines) {
  std::size_t done = 0;
  while (fd_ >= 0 && done < bytes.size()) {
    const ssize_t count = write(fd_, bytes.data() + done, bytes.size() - done);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count < 0 && errno != EINTR) {
      break;
    }
  }
  const std::lock_guard lock(mutex_);
  (done == bytes.size() ? written_ : dropped_) += lines;
}

}  // namespace sluice::telemetry

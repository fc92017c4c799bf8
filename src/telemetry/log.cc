#include "telemetry/log.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::telemetry {
namespace {

bool IsSocket(int fd) {
  struct stat status{};
  return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

}  // namespace

Log::Log(const LogOptions& options, const Clock& clock)
    : format_(options.format),
      fd_(options.fd),
      is_socket_(IsSocket(options.fd)),
      clock_(clock),
      level_(options.level) {
  line_.reserve(2 * kMaxLineBytes);
}

void Log::Write(LogLevel level, std::string_view message,
                std::initializer_list<LogField> fields) noexcept {
  if (Wants(level)) WriteLine(level, message, fields, 0);
}

void Log::Write(LogEvery& every, SteadyTime now, LogLevel level, std::string_view message,
                std::initializer_list<LogField> fields) noexcept {
  if (!Wants(level)) return;
  const auto suppressed = every.Pass(now);
  if (suppressed) WriteLine(level, message, fields, *suppressed);
}

EnumArray<LogLevel, std::uint64_t> Log::Lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::uint64_t Log::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void Log::WriteLine(LogLevel level, std::string_view message,
                    std::initializer_list<LogField> fields, std::uint64_t suppressed) noexcept {
  const std::lock_guard lock(mutex_);
  const WallTime now = clock_.Now();
  line_.clear();
  AppendLogLine({now, level, message, fields, suppressed}, format_, hasher_, line_);
  if (!Send(line_)) {
    ++dropped_;
    ++dropped_unreported_;
    return;
  }
  ++lines_[level];
  if (dropped_unreported_ == 0) return;
  line_.clear();
  AppendLogLine({now, LogLevel::kWarn, "log lines were dropped", {{"lines", dropped_unreported_}}},
                format_, hasher_, line_);
  if (Send(line_)) {
    dropped_unreported_ = 0;
    ++lines_[LogLevel::kWarn];
  }
}

bool Log::Send(std::string_view line) {
  if (!SendRest()) return false;
  const std::size_t sent = TryWrite(line);
  if (sent == 0) return false;
  rest_ = line.substr(sent);
  return true;
}

bool Log::SendRest() {
  if (!rest_.empty()) rest_.erase(0, TryWrite(rest_));
  return rest_.empty();
}

// The descriptor may be shared with other programs, down to the shell, so it is not made
// non-blocking. A pipe that poll calls writable takes a line of up to PIPE_BUF bytes whole. Files
// are always writable.
std::size_t Log::TryWrite(std::string_view bytes) const {
  ssize_t sent = -1;
  if (is_socket_) {
    sent = send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } else {
    pollfd writable{.fd = fd_, .events = POLLOUT, .revents = 0};
    // Not into a pipe without a reader, either: that would raise a signal.
    if (poll(&writable, 1, 0) == 1 && writable.revents == POLLOUT) {
      sent = write(fd_, bytes.data(), bytes.size());
    }
  }
  return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

}  // namespace sluice::telemetry

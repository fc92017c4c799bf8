#include "rules/file_watcher.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rules/path_places.h"

namespace sluice::rules {
namespace {

// File systems tell the time of a change in steps of up to two seconds: within one, a file can
// change again and look the same.
constexpr Micros kCoarsestTime = std::chrono::milliseconds(2500);

// Where entries of a directory change all the time, other than ours, the thread wakes up this often
// and no more.
constexpr Micros kLeastSleep = std::chrono::milliseconds(10);

constexpr int kTriesToListen = 4;

std::int64_t Nanos(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

class OpenFile {
 public:
  // Without O_NONBLOCK, to open a pipe would wait for somebody to write to it.
  explicit OpenFile(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

std::string Reason(const std::string& what, int error) {
  return what + ": " + std::generic_category().message(error);
}

FileChange ReadContent(const std::string& path, std::size_t max_bytes) {
  const auto failed = [&path](std::string why) {
    return FileChange{.path = path, .content = {}, .error = std::move(why)};
  };
  const OpenFile file(path);
  if (file.descriptor() < 0) return failed(Reason("can't be opened", errno));
  struct stat status{};
  if (fstat(file.descriptor(), &status) != 0) return failed(Reason("can't be read", errno));
  if (!S_ISREG(status.st_mode)) return failed("is not a regular file");
  std::string content;
  std::array<char, 65536> part;
  while (true) {
    const ssize_t size = read(file.descriptor(), part.data(), part.size());
    if (size == 0) return {.path = path, .content = std::move(content), .error = {}};
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed(Reason("can't be read", errno));
    content.append(part.data(), static_cast<std::size_t>(size));
    if (content.size() > max_bytes) {
      return failed("is larger than " + std::to_string(max_bytes) + " bytes");
    }
  }
}

}  // namespace

FileWatcher::FileWatcher(std::string path, FileWatcherOptions options)
    : path_(std::move(path)),
      options_(options),
      events_(options.listen ? std::make_unique<DirectoryEvents>() : nullptr) {}

FileWatcher::Signature FileWatcher::SignatureOf(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return {.error = errno};
  return {.error = 0,
          .device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .modified = Nanos(status.st_mtim),
          .changed = Nanos(status.st_ctim)};
}

SteadyTime FileWatcher::WhenCalm() const {
  const SteadyTime calm = unrest_->last + (unfinished_ ? options_.patience : options_.pause);
  return std::min(calm, unrest_->since + options_.longest_wait);
}

SteadyTime FileWatcher::due() const {
  return unrest_ ? std::min(WhenCalm(), next_poll_) : next_poll_;
}

std::optional<FileChange> FileWatcher::Look(SteadyTime now) {
  if (events_) {
    const Heard heard = events_->Take();
    unfinished_ = heard.unfinished;
    if (heard.anything) Stir(now);
  }
  if (!told_) return Read(now);
  const bool polled = now >= next_poll_;
  if (polled) Poll(now);
  if (unrest_) return now >= WhenCalm() ? Read(now) : std::nullopt;
  return polled && now < doubtful_until_ ? Read(now) : std::nullopt;
}

void FileWatcher::Stir(SteadyTime now) {
  if (!unrest_) unrest_ = Unrest{.since = now, .last = now};
  unrest_->last = now;
}

void FileWatcher::Poll(SteadyTime now) {
  next_poll_ = now + options_.poll;
  const Signature signature = SignatureOf(path_);
  if (signature == seen_) return;
  seen_ = signature;
  doubtful_until_ = now + kCoarsestTime;
  Stir(now);
}

void FileWatcher::Listen() {
  if (!events_) return;
  // What changes between finding the places and listening there would go unheard.
  std::vector<Place> places;
  for (int tries = 0; tries < kTriesToListen; ++tries) {
    std::vector<Place> found = PlacesOn(path_);
    if (found == places) return;
    places = std::move(found);
    listening_ = events_->ListenAt(places);
  }
}

std::optional<FileChange> FileWatcher::Read(SteadyTime now) {
  Listen();
  const Signature before = SignatureOf(path_);
  FileChange found = ReadContent(path_, options_.max_bytes);
  const Signature after = SignatureOf(path_);
  const bool waited = unrest_ && now >= unrest_->since + options_.longest_wait;
  // Changed while it was read; or since the last poll, where nothing else tells.
  const bool moves = before != after || (told_ && !listening_ && before != seen_);
  if (after != seen_) doubtful_until_ = now + kCoarsestTime;
  seen_ = after;
  next_poll_ = now + options_.poll;
  if (moves && !waited) {
    Stir(now);
    return std::nullopt;
  }
  unrest_.reset();
  return Tell(std::move(found));
}

std::optional<FileChange> FileWatcher::Tell(FileChange found) {
  if (told_ == found) return std::nullopt;
  told_ = std::move(found);
  return told_;
}

WatchThread::WatchThread(FileWatcher watcher, std::function<void(const FileChange&)> on_change)
    : watcher_(std::move(watcher)),
      on_change_(std::move(on_change)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (stop_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  thread_ = std::thread([this] { Run(); });
}

WatchThread::~WatchThread() {
  eventfd_write(stop_, 1);
  thread_.join();
  close(stop_);
}

void WatchThread::Run() {
  std::array<pollfd, 2> ready{pollfd{.fd = stop_, .events = POLLIN, .revents = 0},
                              pollfd{.fd = watcher_.descriptor(), .events = POLLIN, .revents = 0}};
  // Waits until the first `count` of them have something, or for so long. Returns whether to go on.
  const auto wait = [&ready](nfds_t count, Micros span) {
    const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(std::max(span, Micros{0}));
    ready[0].revents = 0;
    poll(ready.data(), count, static_cast<int>(timeout.count()));
    return ready[0].revents == 0;
  };
  while (true) {
    const SteadyTime now = SteadyClock::Now();
    if (const auto change = watcher_.Look(now)) on_change_(*change);
    if (!wait(1, kLeastSleep) || !wait(2, watcher_.due() - SteadyClock::Now())) return;
  }
}

}  // namespace sluice::rules

#include "rules/file_watcher.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace sluice::rules {
namespace {

// File systems tell the time of a change in steps of up to two seconds: within one, a file can
// change again and look the same.
constexpr Micros kCoarsestTime = std::chrono::milliseconds(2500);

// Where entries of a directory change all the time, other than ours, the thread wakes up this often
// and no more.
constexpr Micros kLeastSleep = std::chrono::milliseconds(10);

constexpr int kTriesToListen = 4;
constexpr int kTriesToRead = 4;

}  // namespace

FileWatcher::FileWatcher(std::string path, FileWatcherOptions options)
    : target_(std::move(path), options.endings),
      options_(std::move(options)),
      events_(options_.listen ? std::make_unique<DirectoryEvents>() : nullptr) {}

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

FileChange FileWatcher::LookNow(SteadyTime now) {
  for (int tries = 0; tries < kTriesToRead; ++tries) {
    told_.reset();
    if (std::optional<FileChange> found = Read(now)) return *std::move(found);
  }
  told_ = target_.Read(options_.max_bytes);
  return *told_;
}

void FileWatcher::Stir(SteadyTime now) {
  if (!unrest_) unrest_ = Unrest{.since = now, .last = now};
  unrest_->last = now;
}

void FileWatcher::Poll(SteadyTime now) {
  next_poll_ = now + options_.poll;
  const WatchedPath::Signature signature = target_.SignatureNow();
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
    std::vector<Place> found = target_.Places();
    if (found == places) return;
    places = std::move(found);
    listening_ = events_->ListenAt(places);
  }
}

std::optional<FileChange> FileWatcher::Read(SteadyTime now) {
  Listen();
  const WatchedPath::Signature before = target_.SignatureNow();
  FileChange found = target_.Read(options_.max_bytes);
  const WatchedPath::Signature after = target_.SignatureNow();
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

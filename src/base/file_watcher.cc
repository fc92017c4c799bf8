#include "base/file_watcher.h"

#include <condition_variable>
#include <mutex>

#include "base/text_hash.h"

namespace sluice {
namespace {

// File systems store times in steps of up to two seconds: within one, a file can change again
// without a change of its times.
constexpr Micros kCoarsestTime = std::chrono::milliseconds(2500);

constexpr int kTriesToRead = 4;

std::uint64_t HashOf(const FileChange& change) {
  std::uint64_t hash = HashText(change.error, HashText(change.path, change.files.size()));
  for (const FileContent& file : change.files) {
    hash = HashText(file.content, HashText(file.path, hash));
  }
  return hash;
}

}  // namespace

std::optional<FileChange> FileWatcher::Poll(SteadyTime now) {
  NoteSignature(files_.Signature(), now);
  if (!returned_) return Read(now);
  const bool is_recent = now < seen_since_ + kCoarsestTime;
  if (!changed_since_ && !is_recent) return std::nullopt;
  const bool is_settled = now >= seen_since_ + options_.settle;
  const bool is_late = changed_since_ && now >= *changed_since_ + options_.longest_wait;
  return is_settled || is_late ? Read(now) : std::nullopt;
}

FileChange FileWatcher::ReadNow(SteadyTime now) {
  for (int tries = 0; tries < kTriesToRead; ++tries) {
    NoteSignature(files_.Signature(), now);
    returned_.reset();
    if (std::optional<FileChange> found = Read(now)) return *std::move(found);
  }
  FileChange found = files_.Read(options_.max_bytes);
  returned_ = HashOf(found);
  return found;
}

void FileWatcher::NoteSignature(std::uint64_t signature, SteadyTime now) {
  if (signature == seen_) return;
  seen_ = signature;
  seen_since_ = now;
  if (!changed_since_) changed_since_ = now;
}

std::optional<FileChange> FileWatcher::Read(SteadyTime now) {
  FileChange found = files_.Read(options_.max_bytes);
  const std::uint64_t before = seen_;
  NoteSignature(files_.Signature(), now);
  // Changed while it was read.
  const bool is_late = changed_since_ && now >= *changed_since_ + options_.longest_wait;
  if (seen_ != before && !is_late) return std::nullopt;
  changed_since_.reset();
  const std::uint64_t hash = HashOf(found);
  if (returned_ == hash) return std::nullopt;
  returned_ = hash;
  return found;
}

WatchThread::WatchThread(std::vector<Watch> watches, Micros interval)
    : watches_(std::move(watches)),
      thread_([this, interval](const std::stop_token& stop) { Run(stop, interval); }) {}

void WatchThread::Run(const std::stop_token& stop, Micros interval) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    for (Watch& watch : watches_) {
      if (stop.stop_requested()) return;
      if (const auto change = watch.watcher.Poll(SteadyClock::Now())) watch.on_change(*change);
    }
    stopped.wait_for(lock, stop, interval, [] { return false; });
  }
}

}  // namespace sluice

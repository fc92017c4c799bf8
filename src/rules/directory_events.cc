#include "rules/directory_events.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include <sys/inotify.h>
#include <unistd.h>

namespace sluice::rules {
namespace {

constexpr std::uint32_t kMask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY |
                                IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF |
                                IN_ONLYDIR;

// Of the directory, not of an entry: what is at its path now, somebody else must find out.
constexpr std::uint32_t kOfDirectory = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;

// What a writer does before it closes the file. A link that is created is never closed, but nothing
// tells it from a file here.
constexpr std::uint32_t kBegins = IN_CREATE | IN_MODIFY;
constexpr std::uint32_t kEnds = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;

}  // namespace

DirectoryEvents::DirectoryEvents() : descriptor_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

DirectoryEvents::~DirectoryEvents() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool DirectoryEvents::ListenAt(const std::vector<Place>& places) {
  if (descriptor_ < 0) return false;
  std::map<int, Names> wanted;
  bool everywhere = true;
  for (const Place& place : places) {
    // Of a directory that is listened to already this gives the same watch again.
    const int watch = inotify_add_watch(descriptor_, place.directory.c_str(), kMask);
    if (watch < 0) {
      everywhere = false;
      continue;
    }
    wanted[watch].insert(place.name);
  }
  for (const auto& [watch, names] : directories_) {
    if (!wanted.contains(watch)) inotify_rm_watch(descriptor_, watch);
  }
  directories_ = std::move(wanted);
  return everywhere;
}

void DirectoryEvents::Note(std::uint32_t mask) {
  heard_.anything = true;
  if ((mask & kBegins) != 0) heard_.unfinished = true;
  if ((mask & kEnds) != 0) heard_.unfinished = false;
}

Heard DirectoryEvents::Take() {
  heard_.anything = false;
  if (descriptor_ < 0) return heard_;
  alignas(inotify_event) std::array<char, 16384> buffer;
  while (true) {
    const ssize_t size = read(descriptor_, buffer.data(), buffer.size());
    if (size <= 0) return heard_;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = buffer.data() + at + sizeof event;
      at += sizeof event + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) heard_ = {.anything = true};  // Nobody knows what.
      const auto directory = directories_.find(event.wd);
      if (directory == directories_.end()) continue;
      if ((event.mask & kOfDirectory) != 0) {
        heard_ = {.anything = true};
        if ((event.mask & IN_IGNORED) != 0) directories_.erase(directory);
      } else if (event.len > 0 && Concerns(directory->second, name)) {
        Note(event.mask);
      }
    }
  }
}

}  // namespace sluice::rules

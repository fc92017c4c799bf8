#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rules/path_places.h"

namespace sluice::rules {

/// What happened at the places that are listened at, since the last time one asked.
struct Heard {
  bool anything = false;
  /// Somebody was seen writing to a file, now or before, and was not seen to be done.
  bool unfinished = false;
};

/// Listens at entries of directories, through inotify. Not at the files themselves: a file that is
/// replaced takes whoever listens to it along. One thread at a time.
class DirectoryEvents {
 public:
  DirectoryEvents();
  ~DirectoryEvents();
  DirectoryEvents(const DirectoryEvents&) = delete;
  DirectoryEvents& operator=(const DirectoryEvents&) = delete;

  /// Readable when something happened. −1 if the system has no inotify to give.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Listens at these places and no others; one without a name is every entry of its directory.
  /// Returns whether that works for all of them.
  bool ListenAt(const std::vector<Place>& places);

  Heard Take();

 private:
  using Names = std::set<std::string, std::less<>>;

  void Note(std::uint32_t mask);
  [[nodiscard]] static bool Concerns(const Names& names, std::string_view name) {
    return names.contains(name) || names.contains(std::string_view());
  }

  int descriptor_ = -1;
  std::map<int, Names> directories_;  ///< By watch.
  Heard heard_;
};

}  // namespace sluice::rules

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"

/// Announcements between nodes about leased keys: several keys in one message. Bytes in, bytes out.
namespace sluice::lease {

enum class AnnouncementKind : char {
  kRecall = 'r',   ///< A node needs tokens of the key.
  kChanged = 'c',  ///< Denied calls of the key may pass now.
};

/// Builder of a message.
class Announcement {
 public:
  explicit Announcement(std::uint64_t sender);

  /// Adds an entry unless an equal one is present. Returns false if there is no room.
  bool Add(AnnouncementKind kind, const Key& key);
  [[nodiscard]] bool empty() const { return bytes_.size() == kHeadBytes; }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  void Clear();

 private:
  static constexpr std::size_t kHeadBytes = 9;
  static constexpr std::size_t kMostBytes = 16'384;
  static constexpr std::size_t kMaxEntries = 256;

  std::string bytes_;
  std::vector<std::size_t> hashes_;  ///< Of each entry.
};

/// Visits all entries of a message, unless `self` sent it. Ignores the rest of a message from the
/// first malformed byte on.
void ReadAnnouncement(std::string_view message, std::uint64_t self,
                      const std::function<void(AnnouncementKind kind, const Key& key)>& visit);

}  // namespace sluice::lease

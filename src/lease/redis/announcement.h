#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"

/// What nodes tell each other of keys that they lease: news of several keys in one message. Bytes
/// in, bytes out.
namespace sluice::lease {

enum class News : char {
  kRecall = 'r',   ///< Somebody needs tokens of the key.
  kChanged = 'c',  ///< What was denied may pass.
};

/// A message in the making.
class Announcement {
 public:
  explicit Announcement(std::uint64_t sender);

  /// What is in it already is not added again. False: there is no room.
  bool Add(News news, const Key& key);
  [[nodiscard]] bool empty() const { return bytes_.size() == kHeadBytes; }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  void Clear();

 private:
  static constexpr std::size_t kHeadBytes = 9;
  static constexpr std::size_t kMostBytes = 16'384;
  static constexpr std::size_t kMostNews = 256;

  std::string bytes_;
  std::vector<std::size_t> hashes_;  ///< Of each of the news.
};

/// Visits all news of a message, unless `self` sent it. What is not a message of ours is ignored
/// from where it is not.
void ReadAnnouncement(std::string_view message, std::uint64_t self,
                      const std::function<void(News news, const Key& key)>& visit);

}  // namespace sluice::lease

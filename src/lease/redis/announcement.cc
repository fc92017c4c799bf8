#include "lease/redis/announcement.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace sluice::lease {
namespace {

constexpr char kFormat = 1;

void AppendSized(std::string_view text, std::string& out) {
  out += static_cast<char>(text.size() & 255);
  out += static_cast<char>(text.size() >> 8);
  out += text;
}

/// Removes texts from the front; returns false if the message is truncated.
bool TakeSized(std::string_view& rest, std::string_view& text) {
  if (rest.size() < 2) return false;
  const std::size_t size =
      static_cast<unsigned char>(rest[0]) | std::size_t{static_cast<unsigned char>(rest[1])} << 8;
  rest.remove_prefix(2);
  if (rest.size() < size) return false;
  text = rest.substr(0, size);
  rest.remove_prefix(size);
  return true;
}

}  // namespace

Announcement::Announcement(std::uint64_t sender) : bytes_(1, kFormat) {
  std::array<char, sizeof(sender)> raw;
  std::memcpy(raw.data(), &sender, sizeof(sender));
  bytes_.append(raw.data(), raw.size());
}

bool Announcement::Add(AnnouncementKind kind, const Key& key) {
  const std::size_t before = bytes_.size();
  bytes_ += static_cast<char>(kind);
  for (const std::string_view part : {key.scope, key.tag, key.rest}) AppendSized(part, bytes_);
  // On a hash collision the second entry is dropped: announcements may be lost.
  const std::size_t hash = std::hash<std::string_view>()(std::string_view(bytes_).substr(before));
  const bool is_known = std::find(hashes_.begin(), hashes_.end(), hash) != hashes_.end();
  const bool fits = bytes_.size() <= kMostBytes && hashes_.size() < kMaxEntries;
  if (fits && !is_known) {
    hashes_.push_back(hash);
  } else {
    bytes_.resize(before);
  }
  return fits || is_known;
}

void Announcement::Clear() {
  bytes_.resize(kHeadBytes);
  hashes_.clear();
}

void ReadAnnouncement(std::string_view message, std::uint64_t self,
                      const std::function<void(AnnouncementKind, const Key&)>& visit) {
  const Announcement own(self);
  const std::string_view head = own.bytes();
  if (message.size() < head.size() || message[0] != kFormat || message.starts_with(head)) return;
  for (std::string_view rest = message.substr(head.size()); !rest.empty();) {
    const char kind = rest[0];
    rest.remove_prefix(1);
    Key key;
    const bool whole =
        TakeSized(rest, key.scope) && TakeSized(rest, key.tag) && TakeSized(rest, key.rest);
    if (!whole || (kind != 'r' && kind != 'c')) return;
    visit(static_cast<AnnouncementKind>(kind), key);
  }
}

}  // namespace sluice::lease

#include "store/key_directory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>
#include <new>

namespace sluice::store {
namespace {

constexpr std::size_t kWord = 8;
constexpr std::size_t kBytesPerSlot = 128;  // Of the arena, for each slot of the index.
constexpr std::size_t kSmallest = std::size_t{64} << 10;

constexpr std::size_t RoundUp(std::size_t bytes) { return (bytes + kWord - 1) / kWord * kWord; }

std::int64_t CountOf(WallTime time) { return time.time_since_epoch().count(); }

}  // namespace

/// What the arena holds of a key; its bytes follow. Without a hash it is padding: an entry does not
/// go over the arena's end.
struct KeyDirectory::Entry {
  std::uint64_t high;
  std::uint64_t low;
  std::int64_t first;
  std::int64_t last;
  std::int64_t denied;
  std::uint32_t bytes;  ///< With the name, in whole words.
  std::uint16_t scope_size;
  std::uint16_t tag_size;
  std::uint16_t rest_size;
  bool active;
  bool is_padding;

  [[nodiscard]] const char* name() const { return reinterpret_cast<const char*>(this + 1); }
  [[nodiscard]] Key key() const {
    return {.scope = {name(), scope_size},
            .tag = {name() + scope_size, tag_size},
            .rest = {name() + scope_size + tag_size, rest_size}};
  }
  [[nodiscard]] SeenTimes times() const {
    SeenTimes times{.first = WallTime{Micros{first}}, .last = WallTime{Micros{last}}};
    if (denied != 0) times.denied = WallTime{Micros{denied}};
    return times;
  }
};

void SeenTimes::Join(const SeenTimes& other) {
  first = std::min(first, other.first);
  last = std::max(last, other.last);
  if (other.denied && (!denied || *denied < *other.denied)) denied = other.denied;
}

KeyDirectory::KeyDirectory(std::size_t max_bytes)
    : arena_bytes_(RoundUp(std::max(max_bytes, kSmallest) / 16 * 15)),
      slots_(std::bit_floor(std::max(max_bytes, kSmallest) / kBytesPerSlot)),
      arena_(new char[arena_bytes_]),
      index_(std::make_unique<Slot[]>(slots_)) {}

KeyDirectory::Entry* KeyDirectory::At(std::uint64_t position) const {
  return std::launder(reinterpret_cast<Entry*>(arena_.get() + position % arena_bytes_));
}

KeyDirectory::Entry* KeyDirectory::At(const Slot& slot) const {
  return At(std::uint64_t{slot.place - 1} * kWord);
}

// Null: the key is not there.
const KeyDirectory::Slot* KeyDirectory::FindSlot(const Key& key, const KeyHash& hash) const {
  for (std::size_t at = hash.low & (slots_ - 1);; at = (at + 1) & (slots_ - 1)) {
    const Slot& slot = index_[at];
    if (slot.place == 0) return nullptr;
    if (slot.hash != static_cast<std::uint32_t>(hash.low)) continue;
    const Entry& entry = *At(slot);
    if (entry.low == hash.low && entry.high == hash.high && entry.key() == key) return &slot;
  }
}

void KeyDirectory::Record(const Key& key, WallTime now, bool denied) noexcept {
  const std::size_t name_bytes = key.scope.size() + key.tag.size() + key.rest.size();
  const KeyHash hash = hasher_(key);
  const std::lock_guard lock(lock_);
  if (name_bytes > kMaxKeyBytes) {
    dropped_ = true;
    return;
  }
  if (const Slot* const slot = FindSlot(key, hash); slot != nullptr) {
    Entry& entry = *At(*slot);
    entry.last = std::max(entry.last, CountOf(now));
    if (denied) entry.denied = entry.last;
    entry.active = true;
    return;
  }
  Entry entry{.high = hash.high,
              .low = hash.low,
              .first = CountOf(now),
              .last = CountOf(now),
              .denied = denied ? CountOf(now) : 0,
              .bytes = static_cast<std::uint32_t>(sizeof(Entry) + RoundUp(name_bytes)),
              .scope_size = static_cast<std::uint16_t>(key.scope.size()),
              .tag_size = static_cast<std::uint16_t>(key.tag.size()),
              .rest_size = static_cast<std::uint16_t>(key.rest.size()),
              .active = denied,
              .is_padding = false};
  // Active keys get another round, as long as there are not too many of them.
  alignas(Entry) std::array<char, sizeof(Entry) + kMaxKeyBytes + kWord> kept;
  int kept_keys = 0;
  while (!MakeRoom(entry.bytes)) {
    const Entry& oldest = *At(tail_);
    const bool keeps = !oldest.is_padding && oldest.active && kept_keys < kMostKept;
    if (!keeps) {
      dropped_ = dropped_ || !oldest.is_padding;
      RemoveOldest();
      continue;
    }
    ++kept_keys;
    std::memcpy(kept.data(), &oldest, oldest.bytes);
    RemoveOldest();
    Entry moved;
    std::memcpy(&moved, kept.data(), sizeof(Entry));
    moved.active = false;
    if (MakeRoom(moved.bytes)) {
      Append(moved, std::launder(reinterpret_cast<const Entry*>(kept.data()))->key());
    } else {
      dropped_ = true;
    }
  }
  Append(entry, key);
}

// Whether an entry of this size fits behind the newest; pads the end of the arena if it must.
bool KeyDirectory::MakeRoom(std::size_t bytes) {
  if (size_ + 1 > slots_ / 4 * 3) return false;
  const std::size_t to_end = arena_bytes_ - head_ % arena_bytes_;
  const std::size_t needed = to_end < bytes + sizeof(Entry) ? to_end + bytes : bytes;
  // Room for the header of a padding must always be left.
  if (head_ + needed + sizeof(Entry) - tail_ > arena_bytes_) return false;
  if (needed == bytes) return true;
  Entry padding{};
  padding.bytes = static_cast<std::uint32_t>(to_end);
  padding.is_padding = true;
  std::memcpy(arena_.get() + head_ % arena_bytes_, &padding, sizeof(Entry));
  head_ += to_end;
  return true;
}

// The key must be absent.
void KeyDirectory::Append(const Entry& entry, const Key& key) {
  char* at = arena_.get() + head_ % arena_bytes_;
  std::memcpy(at, &entry, sizeof(Entry));
  at += sizeof(Entry);
  for (const std::string_view part : {key.scope, key.tag, key.rest}) {
    at = std::copy(part.begin(), part.end(), at);
  }
  std::size_t slot = entry.low & (slots_ - 1);
  while (index_[slot].place != 0) slot = (slot + 1) & (slots_ - 1);
  index_[slot] = {.place = static_cast<std::uint32_t>(head_ % arena_bytes_ / kWord + 1),
                  .hash = static_cast<std::uint32_t>(entry.low)};
  head_ += entry.bytes;
  ++size_;
}

void KeyDirectory::RemoveOldest() {
  const Entry& oldest = *At(tail_);
  if (!oldest.is_padding) {
    Unlink(oldest);
    --size_;
  }
  tail_ += oldest.bytes;
}

// Takes an entry out of the index; those behind it that belong further up move there.
void KeyDirectory::Unlink(const Entry& entry) {
  const std::size_t mask = slots_ - 1;
  std::size_t hole = entry.low & mask;
  while (index_[hole].place == 0 || At(index_[hole]) != &entry) hole = (hole + 1) & mask;
  for (std::size_t at = (hole + 1) & mask; index_[at].place != 0; at = (at + 1) & mask) {
    const std::size_t home = index_[at].hash & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    index_[hole] = index_[at];
    hole = at;
  }
  index_[hole] = {};
}

std::optional<SeenTimes> KeyDirectory::Find(const Key& key) const {
  const KeyHash hash = hasher_(key);
  const std::lock_guard lock(lock_);
  const Slot* const slot = FindSlot(key, hash);
  if (slot == nullptr) return std::nullopt;
  return At(*slot)->times();
}

KeyDirectory::Position KeyDirectory::Begin() const {
  const std::lock_guard lock(lock_);
  return {.next = tail_, .end = head_};
}

bool KeyDirectory::Read(Position& position, std::size_t count, std::vector<SeenKey>& out) const {
  constexpr std::size_t kAtOnce = 32;
  while (count > 0) {
    const std::lock_guard lock(lock_);
    position.next = std::max(position.next, tail_);
    for (std::size_t i = 0; i < std::min(count, kAtOnce); ++i) {
      if (position.next >= std::min(position.end, head_)) return false;
      const Entry& entry = *At(position.next);
      position.next += entry.bytes;
      if (!entry.is_padding) out.push_back({.key = OwnedKey(entry.key()), .times = entry.times()});
    }
    count -= std::min(count, kAtOnce);
  }
  return true;
}

std::size_t KeyDirectory::size() const {
  const std::lock_guard lock(lock_);
  return size_;
}

bool KeyDirectory::has_dropped() const {
  const std::lock_guard lock(lock_);
  return dropped_;
}

KeyDirectories::KeyDirectories(std::size_t max_bytes, std::size_t loops) {
  for (std::size_t i = 0; i < loops; ++i) {
    directories_.push_back(std::make_unique<KeyDirectory>(max_bytes / loops));
  }
}

std::optional<SeenTimes> KeyDirectories::Find(const Key& key) const {
  std::optional<SeenTimes> times;
  for (const auto& directory : directories_) {
    const auto found = directory->Find(key);
    if (!found) continue;
    times ? times->Join(*found) : static_cast<void>(times = found);
  }
  return times;
}

bool KeyDirectories::Read(Position& position, std::size_t count, std::vector<SeenKey>& out) const {
  std::vector<SeenKey> found;
  while (position.loop < directories_.size()) {
    const KeyDirectory& directory = *directories_[position.loop];
    if (!position.began) position.in_loop = directory.Begin();
    position.began = true;
    found.clear();
    const bool more = directory.Read(position.in_loop, count, found);
    for (SeenKey& seen : found) {
      bool is_known = false;  // From a loop before.
      for (std::size_t i = 0; i < position.loop; ++i) {
        is_known = is_known || directories_[i]->Find(seen.key.view()).has_value();
      }
      if (is_known) continue;
      for (std::size_t i = position.loop + 1; i < directories_.size(); ++i) {
        if (const auto other = directories_[i]->Find(seen.key.view())) seen.times.Join(*other);
      }
      out.push_back(std::move(seen));
    }
    if (more) return true;
    ++position.loop;
    position.began = false;
    if (found.size() >= count) return position.loop < directories_.size();
    count -= found.size();
  }
  return false;
}

bool KeyDirectories::has_dropped() const {
  return std::any_of(directories_.begin(), directories_.end(),
                     [](const auto& directory) { return directory->has_dropped(); });
}

}  // namespace sluice::store

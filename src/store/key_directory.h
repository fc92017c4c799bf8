#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <sluice/time.h>

#include "base/key.h"
#include "base/key_hash.h"
#include "base/owned_key.h"
#include "base/spin_lock.h"

namespace sluice::store {

/// When a key was used, as far as a directory knows.
struct SeenTimes {
  WallTime first{};
  WallTime last{};
  std::optional<WallTime> denied{};  ///< The last denial.

  /// Joins what two directories know of a key.
  void Join(const SeenTimes& other);
};

struct SeenKey {
  OwnedKey key;
  SeenTimes times;
};

/// Names of the keys that one event loop used lately, in bounded memory: the memory store knows
/// keys by fingerprint only. Keys lie in a ring in the order of their arrival. When it is full, the
/// oldest go; those that were denied or used since they were placed go to the end instead, a few
/// times for each new key.
///
/// Recorded by one thread, read by any: a spin lock is held for one record, or for a few
/// microseconds of reading. Allocates only when it is made; its pages are touched as keys arrive.
class KeyDirectory {
 public:
  /// Longer keys are not recorded.
  static constexpr std::size_t kMaxKeyBytes = 2048;

  explicit KeyDirectory(std::size_t max_bytes);
  KeyDirectory(const KeyDirectory&) = delete;
  KeyDirectory& operator=(const KeyDirectory&) = delete;

  void Record(const Key& key, WallTime now, bool denied) noexcept;
  /// Whether the list of keys would miss this one: it has all others, and not this. On the
  /// recording thread; without the lock, since no other thread changes anything.
  [[nodiscard]] bool Lacks(const Key& key) const noexcept {
    return !dropped_ && FindSlot(key, hasher_(key)) == nullptr;
  }

  [[nodiscard]] std::optional<SeenTimes> Find(const Key& key) const;

  /// Where a reader stands: it has seen all keys before `next`, and will see those before `end`.
  struct Position {
    std::uint64_t next = 0;
    std::uint64_t end = 0;
  };
  /// Returns the position of a reader that begins now.
  [[nodiscard]] Position Begin() const;
  /// Appends up to `count` keys and moves on. False: there are no more.
  bool Read(Position& position, std::size_t count, std::vector<SeenKey>& out) const;

  [[nodiscard]] std::size_t size() const;
  /// Whether some key that was used is not here.
  [[nodiscard]] bool has_dropped() const;

 private:
  struct Entry;
  /// Of the index. The hash decides most lookups and all removals without a look at the entry,
  /// which is somewhere else in memory.
  struct Slot {
    std::uint32_t place = 0;  ///< In the arena, in words, plus one; 0: empty.
    std::uint32_t hash = 0;   ///< The lower bits.
  };
  static constexpr int kMostKept = 4;  ///< Active keys that are kept for one new key.

  [[nodiscard]] Entry* At(std::uint64_t position) const;
  [[nodiscard]] Entry* At(const Slot& slot) const;
  [[nodiscard]] const Slot* FindSlot(const Key& key, const KeyHash& hash) const;
  bool MakeRoom(std::size_t bytes);
  void RemoveOldest();
  void Append(const Entry& entry, const Key& key);
  void Unlink(const Entry& entry);

  mutable SpinLock lock_;  ///< Guards everything below.
  const KeyHasher hasher_;
  const std::size_t arena_bytes_;
  const std::size_t slots_;  ///< A power of two.
  std::unique_ptr<char[]> arena_;
  std::unique_ptr<Slot[]> index_;
  std::uint64_t head_ = 0;  ///< Where the next entry goes; positions only grow.
  std::uint64_t tail_ = 0;  ///< The oldest entry.
  std::size_t size_ = 0;
  bool dropped_ = false;
};

/// The directories of all event loops of a process.
class KeyDirectories {
 public:
  /// `max_bytes` in all.
  KeyDirectories(std::size_t max_bytes, std::size_t loops);

  /// Returns the directory of one more loop; at most as many as there are. From any thread.
  [[nodiscard]] KeyDirectory& AddLoop() { return *directories_[added_.fetch_add(1)]; }
  [[nodiscard]] KeyDirectory& of_loop(std::size_t loop) { return *directories_[loop]; }
  [[nodiscard]] std::size_t loops() const { return directories_.size(); }

  [[nodiscard]] std::optional<SeenTimes> Find(const Key& key) const;

  /// Where a reader of all directories stands.
  struct Position {
    std::size_t loop = 0;
    bool began = false;
    KeyDirectory::Position in_loop{};
  };
  /// Appends up to `count` keys, each once, and moves on. False: there are no more.
  bool Read(Position& position, std::size_t count, std::vector<SeenKey>& out) const;
  [[nodiscard]] bool has_dropped() const;

 private:
  std::vector<std::unique_ptr<KeyDirectory>> directories_;
  std::atomic<std::size_t> added_{0};
};

}  // namespace sluice::store

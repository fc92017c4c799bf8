#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include <sluice/time.h>

#include "base/key_hash.h"
#include "store/store.h"

namespace sluice::store {

/// Marks of settled receipts by key, kept until the receipts expire. Not thread-safe: guarded by
/// the segment's lock.
///
/// Expired marks are removed a few at a time, whenever their key is settled again or swept.
class SettlementMarks {
 public:
  /// Returns the mark of the receipt, or nullptr.
  [[nodiscard]] SettlementMark* Find(const KeyHash& key, const Settlement& settlement);

  /// Returns whether the key may get `added` marks without exceeding `most`; expired ones don't
  /// count.
  [[nodiscard]] bool HasRoomFor(const KeyHash& key, std::size_t added, std::size_t most,
                                WallTime now) const;

  /// Adds a mark. Precondition: the receipt has none. Drops more expired marks than it adds.
  void Insert(const KeyHash& key, const Settlement& settlement, const SettlementMark& mark,
              WallTime now);

  /// Drops some expired marks of the next few keys.
  void Sweep(WallTime now);

  [[nodiscard]] bool empty() const { return by_key_.empty(); }

  /// Maximum heap growth of an Insert: a mark, a key, and the marks of a new key.
  static constexpr std::size_t kBytesOfNew = 288;
  /// Returns the approximate heap memory of the marks.
  [[nodiscard]] std::size_t Bytes() const;

 private:
  /// Ordered by expiry first.
  struct Id {
    WallTime expires;
    std::uint64_t receipt;

    friend auto operator<=>(const Id&, const Id&) = default;
  };
  using Marks = std::map<Id, SettlementMark>;
  struct InOrder {
    bool operator()(const KeyHash& a, const KeyHash& b) const {
      return a.high != b.high ? a.high < b.high : a.low < b.low;
    }
  };
  // Map nodes, with the overhead of the allocator.
  static constexpr std::size_t kBytesPerMark = 80;
  static constexpr std::size_t kBytesPerKey = 112;

  /// Drops expired marks, `most` at most.
  void Prune(Marks& marks, WallTime now, std::size_t most);

  std::map<KeyHash, Marks, InOrder> by_key_;  ///< No value is empty.
  std::size_t marks_ = 0;                     ///< Of all keys.
  KeyHash swept_{};                           ///< The key that was swept last.
};

}  // namespace sluice::store

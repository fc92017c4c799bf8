#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace sluice::telemetry {

/// The text of a counted pair of rule and key, in fixed memory. Longer keys are cut and end with a
/// hash of the whole, so that they stay distinguishable.
class PairText {
 public:
  static constexpr std::size_t kMaxRuleBytes = 96;
  static constexpr std::size_t kMaxKeyBytes = 128;

  /// A key is its tag, or "<tag>:<rest>" with a rest. `is_secret`: it contains an API key.
  void Set(std::string_view rule, std::string_view tag, std::string_view rest, bool is_secret);

  [[nodiscard]] std::string_view rule() const { return {bytes_.data(), rule_size_}; }
  [[nodiscard]] std::string_view key() const { return {bytes_.data() + rule_size_, key_size_}; }
  [[nodiscard]] bool is_secret() const { return is_secret_; }

 private:
  std::uint8_t rule_size_ = 0;
  std::uint8_t key_size_ = 0;
  bool is_secret_ = false;
  std::array<char, kMaxRuleBytes + kMaxKeyBytes> bytes_;
};

/// The Space-Saving sketch of Metwally, Agrawal and El Abbadi: the most frequent items of a stream
/// in the memory of a fixed number of counters. Every item with more than total() / kCounters is
/// in it, and for each counter `count - error` ≤ true amount ≤ `count`.
///
/// A known item costs a lookup. An unknown one replaces that with the smallest count, which a heap
/// finds; entries of the heap are brought up to date only when they reach its top, so that counting
/// does not touch it. Allocates nothing after its construction. For one thread at a time.
class SpaceSaving {
 public:
  static constexpr std::size_t kCounters = 1024;

  struct Counter {
    std::uint64_t hash = 0;  ///< Of the item, under a secret of the process.
    std::uint64_t count = 0;
    std::uint64_t error = 0;    ///< The count of the item that it replaced.
    double variance = 0;        ///< Of `count`, because calls were sampled.
    float utilization = 0;      ///< Of the limit, at the last decision.
    std::uint64_t largest = 0;  ///< Amount that was added at once.
  };

  SpaceSaving();

  struct Added {
    Counter& counter;
    PairText* new_text;  ///< To be set: it is that of another item, or of none. Null: it is set.
  };
  /// Adds `amount` ≥ 1 to the item with this hash. `variance` is that of the amount.
  Added Add(std::uint64_t hash, std::uint64_t amount, double variance = 0);

  [[nodiscard]] std::span<const Counter> counters() const { return {counters_.get(), size_}; }
  /// Returns the text of the counter with this index.
  [[nodiscard]] const PairText& text(std::size_t i) const { return texts_[i]; }
  /// The most that an item may have that is not here.
  [[nodiscard]] std::uint64_t MaxAbsent() const;
  /// All amounts.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  void Clear();
  /// Becomes a copy of another sketch.
  void Assign(const SpaceSaving& other);

 private:
  /// At most half of the index is used.
  static constexpr std::size_t kSlots = 4 * kCounters;
  static constexpr std::uint16_t kNone = 0xFFFF;

  struct HeapEntry {
    std::uint64_t count;  ///< Of the counter, some time ago.
    std::uint16_t counter;
  };

  [[nodiscard]] std::size_t FindSlot(std::uint64_t hash) const;
  void RemoveSlot(std::size_t slot);
  void BuildHeap();
  void SiftDown(std::size_t at);
  std::uint16_t TakeSmallest();

  std::unique_ptr<Counter[]> counters_;
  /// Of the counters. Apart, so that counting known items touches 48 KB and not six times as much.
  std::unique_ptr<PairText[]> texts_;
  std::size_t size_ = 0;
  std::uint64_t total_ = 0;
  bool has_heap_ = false;
  std::array<std::uint16_t, kSlots> index_;
  std::array<HeapEntry, kCounters> heap_;
};

}  // namespace sluice::telemetry

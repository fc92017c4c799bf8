#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace sluice::telemetry {

/// The last decisions of a node, as a DecisionBuffer encoded them; each has a sequence number. For
/// one thread at a time.
class DecisionRing {
 public:
  static constexpr std::size_t kRecords = 10'000;

  struct Entry {
    std::uint64_t sequence = 0;  ///< 1, 2, …
    std::string bytes;
  };

  const Entry& Append(std::string_view bytes) {
    entries_.push_back({.sequence = ++last_, .bytes = std::string(bytes)});
    if (entries_.size() > kRecords) entries_.pop_front();
    return entries_.back();
  }
  /// Counts decisions that were not recorded, because a buffer was full.
  void AddDropped(std::uint64_t count) { dropped_ += count; }

  /// The oldest first.
  [[nodiscard]] const std::deque<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::uint64_t last() const { return last_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  std::deque<Entry> entries_;
  std::uint64_t last_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace sluice::telemetry

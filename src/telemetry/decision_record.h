#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <sluice/rules.h>
#include <sluice/time.h>

namespace sluice::telemetry {

/// One decision, as its event loop records it. Texts are views.
struct DecisionRecord {
  WallTime time{};
  bool allowed = false;
  bool degraded = false;       ///< Made without the store.
  bool is_secret = false;      ///< The key contains an API key that is not hashed.
  std::uint16_t protocol = 0;  ///< Numbers of enums that the recorder has.
  std::uint16_t outcome = 0;
  std::uint64_t rules = 0;  ///< Number of the active version of the rules.
  std::int64_t cap = 0;     ///< The limit itself.
  std::int64_t remaining = 0;
  std::int64_t cost = 0;
  Micros wait{0};  ///< Until the same call passes; negative: never.
  std::string_view rule{};
  std::string_view limit{};
  std::string_view tag{};  ///< The key: see base/key.h.
  std::string_view rest{};
  std::span<const Attribute> attributes{};
};

/// Decisions in fixed memory, from a loop to the thread that reads them. Records have at most
/// kMaxRecordBytes: longer texts are cut, and attributes left out. For one thread at a time.
class DecisionBuffer {
 public:
  static constexpr std::size_t kMaxRecordBytes = 1024;

  explicit DecisionBuffer(std::size_t bytes);

  /// Returns true, and counts a record as dropped, if there is no room for one.
  bool DropIfFull() {
    if (capacity_ - used_ >= kMaxRecordBytes) return false;
    CountDropped();
    return true;
  }
  /// Counts a record that was not made.
  void CountDropped() { ++dropped_; }
  /// Returns false, and counts, if there is no room.
  bool Append(const DecisionRecord& record);
  [[nodiscard]] bool empty() const { return used_ == 0 && dropped_ == 0; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  void Clear() {
    used_ = 0;
    dropped_ = 0;
  }

  /// Calls `visit` with the bytes of each record, oldest first.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (std::size_t at = 0; at < used_;) {
      const std::string_view bytes = BytesAt(at);
      visit(bytes);
      at += bytes.size();
    }
  }

 private:
  [[nodiscard]] std::string_view BytesAt(std::size_t at) const;

  const std::size_t capacity_;
  std::unique_ptr<char[]> bytes_;
  std::size_t used_ = 0;
  std::uint64_t dropped_ = 0;
};

/// A record and its attributes, read from the bytes that a DecisionBuffer wrote: views of them.
struct ReadDecision {
  DecisionRecord record{};
  std::vector<Attribute> attributes{};
};
void ReadRecord(std::string_view bytes, ReadDecision& out);
/// Only the time of a record.
[[nodiscard]] WallTime ReadRecordTime(std::string_view bytes);

}  // namespace sluice::telemetry

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/trace_context.h"

namespace sluice::telemetry {

/// A text of bounded length, in place.
class SpanText {
 public:
  SpanText() = default;
  explicit SpanText(std::string_view text) {
    std::size_t size = std::min(text.size(), kMaxBytes);
    // Not in the middle of a character.
    while (size > 0 && size < text.size() && (text[size] & 0xc0) == 0x80) --size;
    std::copy_n(text.data(), size, bytes_.data());
    size_ = static_cast<std::uint8_t>(size);
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  static constexpr std::size_t kMaxBytes = 63;
  std::array<char, kMaxBytes> bytes_{};
  std::uint8_t size_ = 0;
};

/// One check as a span, and its call to the store as another. Fixed memory; no keys, no addresses.
struct SpanRecord {
  using Nanos = std::chrono::nanoseconds;  ///< Since 1970, or a duration.

  TraceContext context{};  ///< Of the caller; a root span has a trace id and no parent.
  std::uint64_t id = 0;
  std::uint64_t store_id = 0;  ///< Of the store's span; 0: the store was not waited for.
  Nanos begin{0}, end{0};
  Nanos store_begin{0};  ///< It ends with the check.
  std::int64_t cost = 0, remaining = 0, cap = 0;
  std::uint32_t limits = 0;
  bool allowed = false;
  bool degraded = false;
  bool is_slow = false;
  std::string_view protocol{};  ///< Both of static storage.
  std::string_view outcome{};
  SpanText rule{}, limit{};

  [[nodiscard]] std::size_t spans() const { return store_id == 0 ? 1 : 2; }
  /// Degraded and slow calls go before others.
  [[nodiscard]] bool has_priority() const { return degraded || is_slow; }
};

/// The spans that all loops together may record in one second. Thread-safe.
class SpanBudget {
 public:
  explicit SpanBudget(std::uint32_t per_second) : per_second_(per_second) {}

  /// Whether there is any left in this second.
  [[nodiscard]] bool HasRoom(std::chrono::seconds second) const {
    return (BaseOf(used_.load(std::memory_order_relaxed), second) & kSpans) < per_second_;
  }
  /// Whether so many spans still fit into the budget of this second; then they are taken from it.
  bool Take(std::chrono::seconds second, std::size_t spans) {
    // Relaxed: the number guards nothing but itself.
    std::uint64_t used = used_.load(std::memory_order_relaxed);
    while (true) {
      const std::uint64_t base = BaseOf(used, second);
      if ((base & kSpans) + spans > per_second_) return false;
      if (used_.compare_exchange_weak(used, base + spans, std::memory_order_relaxed)) return true;
    }
  }

 private:
  static constexpr std::uint64_t kSpans = 0xffff'ffff;

  // What the spans of a second are added to: its own number of spans, or that of a later second,
  // since loops don't begin one together. A clock that was set back begins anew.
  static std::uint64_t BaseOf(std::uint64_t used, std::chrono::seconds second) {
    constexpr std::uint64_t kMostLate = 5;
    const auto now = static_cast<std::uint64_t>(second.count());
    const std::uint64_t held = used >> 32U;
    return now <= held && held - now <= kMostLate ? used : now << 32U;
  }

  const std::uint32_t per_second_;
  std::atomic<std::uint64_t> used_{0};  ///< The second, and the spans in it.
};

/// Spans of one loop until another thread takes them: fixed memory. For one thread at a time.
class SpanBuffer {
 public:
  static constexpr std::size_t kCapacity = 512;

  SpanBuffer() { records_.reserve(kCapacity); }

  /// Keeps a record, if there is room and the budget allows. Otherwise one with priority takes the
  /// place of one without; all others are dropped and counted.
  void Add(SpanRecord record, SpanBudget& budget) {
    const auto second = std::chrono::floor<std::chrono::seconds>(record.end);
    if (records_.size() < kCapacity && budget.Take(second, record.spans())) {
      if (!record.has_priority()) ++ordinary_;
      records_.push_back(record);
      return;
    }
    if (!record.has_priority() || ordinary_ == 0) {
      dropped_ += record.spans();
      return;
    }
    const auto place = std::find_if(records_.begin(), records_.end(),
                                    [](const SpanRecord& one) { return !one.has_priority(); });
    dropped_ += place->spans();
    if (record.spans() > place->spans()) record.store_id = 0;  // The budget stays as it is.
    *place = record;
    --ordinary_;
  }

  /// Whether a record with priority could take the place of another.
  [[nodiscard]] bool HasOrdinary() const { return ordinary_ > 0; }
  void CountDropped() { ++dropped_; }

  [[nodiscard]] const std::vector<SpanRecord>& records() const { return records_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  void Clear() {
    records_.clear();
    ordinary_ = 0;
    dropped_ = 0;
  }

 private:
  std::vector<SpanRecord> records_;
  std::size_t ordinary_ = 0;  ///< Records without priority.
  std::uint64_t dropped_ = 0;
};

}  // namespace sluice::telemetry

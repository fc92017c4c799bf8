#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <sluice/time.h>

#include "base/key_hash.h"
#include "telemetry/adaptive_sampler.h"
#include "telemetry/decision_record.h"
#include "telemetry/space_saving.h"

namespace sluice::telemetry {

/// The quantity that consumers are ranked by.
enum class TopDimension : std::uint8_t { kDenied, kAllowed, kCost };
inline constexpr std::size_t kTopDimensions = 3;

/// Consumers of one event loop, counted for about a second. While all calls cost one, costs are
/// the allowed calls, and are not counted a second time.
class ConsumerSketches {
 public:
  [[nodiscard]] const SpaceSaving& Of(TopDimension dimension) const;
  /// The sketch to count in. That of costs begins as a copy of the allowed calls.
  [[nodiscard]] SpaceSaving& Mutable(TopDimension dimension);
  /// Whether costs are counted apart from calls: some call had another cost than one.
  [[nodiscard]] bool has_costs() const { return has_costs_; }

  /// The most calls for which a sampled one stood: of denied ones, and of the others.
  std::uint32_t max_denied_weight = 1;
  std::uint32_t max_allowed_weight = 1;

  void Clear();

 private:
  std::array<SpaceSaving, kTopDimensions> sketches_;
  bool has_costs_ = false;
};

/// One limit's part in a decided call.
struct ConsumerUse {
  std::string_view rule{};
  std::string_view tag{};  ///< Of the key.
  std::string_view rest{};
  bool is_secret = false;  ///< The key contains an API key that is not hashed.
  std::uint64_t cost = 1;
  float utilization = 0;  ///< Used share of the limit, from 0 to 1.
};

struct LoopInsightOptions {
  std::size_t record_bytes = std::size_t{256} << 10;  ///< Of decisions between two exchanges.
  /// Of allowed calls, one in so many is recorded; 0: none.
  std::uint32_t allowed_every = 0;
  /// Whether all denials are recorded, as a log needs, or only those that SampleDenied chooses.
  bool all_denials = false;
};

/// Records the decisions of one event loop. All functions but has_records and has_counts run on
/// that loop's thread; none of them waits, and recording allocates nothing.
///
/// Another thread reads by exchange: it lets the loop swap its buffers for empty ones
/// (Loop::Post), and owns what was recorded. A reader that is late costs records, which are counted
/// as dropped, and never a wait.
class LoopInsight {
 public:
  /// `hasher` must outlive it, and be the same for all loops.
  LoopInsight(const KeyHasher& hasher, const LoopInsightOptions& options, std::uint64_t seed);

  /// Returns the number of calls for which this one stands; 0: it is not to be counted.
  std::uint32_t SampleDenied() { return denied_sampler_.Choose(); }
  std::uint32_t SampleAllowed() { return allowed_sampler_.Choose(); }
  /// Whether this allowed call is to be recorded.
  bool RecordsAllowed() {
    if (options_.allowed_every == 0 || --until_allowed_ > 0) return false;
    until_allowed_ = options_.allowed_every;
    return true;
  }

  [[nodiscard]] bool RecordsAllDenials() const { return options_.all_denials; }

  /// Counts a call that stands for `weight`.
  void CountDenied(const ConsumerUse& use, std::uint32_t weight);
  void CountAllowed(const ConsumerUse& use, std::uint32_t weight);
  void Record(const DecisionRecord& record);
  /// Returns true, and counts a record as dropped, if there is no room: then it need not be made.
  bool DropIfFull() { return records_->DropIfFull(); }
  /// Counts a denial that is not recorded.
  void CountDropped() { records_->CountDropped(); }

  /// Gives away what was recorded and goes on with `empty`.
  [[nodiscard]] std::unique_ptr<DecisionBuffer> Exchange(std::unique_ptr<DecisionBuffer> empty);
  [[nodiscard]] std::unique_ptr<ConsumerSketches> Exchange(std::unique_ptr<ConsumerSketches> empty);

  // ---- From any thread. Relaxed: what was recorded is read after an exchange only.

  [[nodiscard]] bool has_records() const { return has_records_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool has_counts() const { return has_counts_.load(std::memory_order_relaxed); }

 private:
  void Count(SpaceSaving& sketch, std::uint64_t hash, const ConsumerUse& use, std::uint64_t amount,
             std::uint32_t weight);

  const KeyHasher& hasher_;
  const LoopInsightOptions options_;
  AdaptiveSampler denied_sampler_;
  AdaptiveSampler allowed_sampler_;
  std::uint32_t until_allowed_;
  std::unique_ptr<ConsumerSketches> sketches_;
  std::unique_ptr<DecisionBuffer> records_;
  std::atomic<bool> has_records_{false};
  std::atomic<bool> has_counts_{false};
};

}  // namespace sluice::telemetry

#pragma once

#include <cstdint>
#include <vector>

#include <sluice/limit.h>

#include "algo/state.h"
#include "load/generator.h"

namespace sluice::bench {

/// Judges what servers admit, key by key, by what one counter would have done with the same calls.
class Ledger final : public Witness {
 public:
  /// All keys have this token bucket, and are full when they are first asked for.
  Ledger(const Limit& limit, std::uint64_t keys);

  void Asked(std::uint64_t key, std::chrono::nanoseconds now) override;
  void Answered(std::uint64_t key, Verdict verdict, std::chrono::nanoseconds now) override;

  /// From here on the deficit is counted. What is over counts from the beginning.
  void CountFromHere();

  /// Admitted beyond capacity + rate · t, where t begins with a key's first request and ends with
  /// the answer: never less than what was really beyond.
  [[nodiscard]] std::int64_t over() const;
  /// Of all calls, those that one counter would have admitted beyond ours.
  [[nodiscard]] double deficit() const;

 private:
  struct Entry {
    algo::State one_counter;
    std::chrono::nanoseconds first{};
    std::int64_t admitted = 0;
    std::int64_t counted = 0;   ///< Admitted since CountFromHere.
    std::int64_t expected = 0;  ///< By one counter.
    std::int64_t over = 0;      ///< At worst.
  };

  const Limit limit_;
  std::vector<Entry> entries_;
  std::int64_t calls_ = 0;
};

}  // namespace sluice::bench

#include "ledger.h"

#include <algorithm>

namespace sluice::bench {
namespace {

// The counter's clock may begin anywhere but at zero.
WallTime TimeOf(std::chrono::nanoseconds now) {
  return WallTime{std::chrono::hours(24) + std::chrono::duration_cast<Micros>(now)};
}

}  // namespace

Ledger::Ledger(const Limit& limit, std::uint64_t keys) : limit_(limit), entries_(keys) {}

void Ledger::Asked(std::uint64_t key, std::chrono::nanoseconds now) {
  Entry& entry = entries_[key];
  const LimitNumbers& limit = limit_.numbers();
  const WallTime time = TimeOf(now);
  if (entry.first == std::chrono::nanoseconds{}) {
    entry.first = now;
    entry.one_counter = algo::Fresh(limit, time);
  }
  ++calls_;
  algo::Advance(limit, time, entry.one_counter);
  if (algo::Left(limit, time, entry.one_counter) < 1) return;
  algo::Take(limit, entry.one_counter, 1, 0);
  ++entry.expected;
}

void Ledger::Answered(std::uint64_t key, Verdict verdict, std::chrono::nanoseconds now) {
  if (verdict != Verdict::kAllowed) return;
  Entry& entry = entries_[key];
  ++entry.admitted;
  ++entry.counted;
  const LimitNumbers& limit = limit_.numbers();
  const auto micros = std::chrono::duration_cast<Micros>(now - entry.first).count() + 1;
  const auto refilled = static_cast<double>(limit.rate_num) * static_cast<double>(micros) /
                        static_cast<double>(limit.rate_den);
  const std::int64_t most = limit.cap + static_cast<std::int64_t>(refilled);
  entry.over = std::max(entry.over, entry.admitted - most);
}

void Ledger::CountFromHere() {
  calls_ = 0;
  for (Entry& entry : entries_) entry.counted = entry.expected = 0;
}

std::int64_t Ledger::over() const {
  std::int64_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.over;
  return sum;
}

double Ledger::deficit() const {
  std::int64_t missing = 0;
  for (const Entry& entry : entries_) {
    missing += std::max(entry.expected - entry.counted, std::int64_t{0});
  }
  return calls_ == 0 ? 0 : static_cast<double>(missing) / static_cast<double>(calls_);
}

}  // namespace sluice::bench

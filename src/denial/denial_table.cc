#include "denial/denial_table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <mutex>
#include <utility>

#include "algo/algorithm_info.h"
#include "base/spin_lock.h"

namespace sluice::denial {
namespace {

constexpr std::size_t kWays = 4;
constexpr SteadyTime kNever{};
// Tolerance for late real checks, so that occasional calls are still single real checks.
constexpr Micros kOverdue = kFirstRecheck;

// A fingerprint of a limit's numbers.
std::uint64_t FingerprintOf(const LimitNumbers& limit) {
  std::uint64_t mixed = 0;
  const auto add = [&](auto number) {
    mixed = (mixed ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
    mixed ^= mixed >> 29;
  };
  add(static_cast<int>(limit.algorithm) * 16 + static_cast<int>(limit.anchor));
  add(limit.cap);
  add(limit.rate_num);
  add(limit.rate_den);
  add(limit.interval.count());
  add(limit.window.count());
  return mixed;
}

// Buckets that refill continuously: with refill intervals, a step may suffice for a costlier call.
bool Refills(const LimitNumbers& limit) {
  return algo::IsBucket(limit.algorithm) && limit.interval == Micros{1};
}

}  // namespace

struct DenialTable::Entry {
  KeyHash hash{};
  std::uint64_t limit = 0;  ///< Fingerprint.
  std::int64_t cost = 0;
  std::int64_t remaining = 0;
  SteadyTime sent{};   ///< Of the call that was denied last.
  SteadyTime until{};  ///< T; kNever: the entry is free.
  SteadyTime reset_at{};
  SteadyTime next_check{};
  SteadyTime last_used{};
  SteadyTime probe_began{};  ///< kNever: no real check is under way.
  Micros recheck{0};         ///< How long after `sent` the next real check is due.
  bool is_stale = false;     ///< None was made for long when one began: every call is one.
  Outcome outcome{};

  [[nodiscard]] bool used() const { return until != kNever; }
  // Returns false if no real check was under way.
  bool EndProbe() {
    is_stale = false;
    return std::exchange(probe_began, kNever) != kNever;
  }
  // Timeout of a real check; then another call may be one.
  [[nodiscard]] bool IsProbed(SteadyTime now) const {
    return probe_began != kNever && now < probe_began + kLongestRecheck;
  }
};

struct alignas(64) DenialTable::Set {
  /// Tags of the entries, readable without the lock; 0: free.
  std::array<std::atomic<std::uint32_t>, kWays> tags{};
  SpinLock lock;
  SteadyTime dropped{};  ///< When a key of this set was last dropped.
  std::array<Entry, kWays> entries{};

  static std::uint32_t TagOf(const KeyHash& hash) {
    return static_cast<std::uint32_t>(hash.low) | 1U;
  }
  // Returns whether the key may be present, without the lock: nearly all keys are not. Relaxed:
  // missing a concurrent entry is equivalent to an earlier lookup.
  [[nodiscard]] bool MayHave(const KeyHash& hash) const {
    const std::uint32_t tag = TagOf(hash);
    return std::any_of(tags.begin(), tags.end(), [&](const auto& other) {
      return other.load(std::memory_order_relaxed) == tag;
    });
  }
  // Relaxed: the entry itself is read under the lock.
  void SetTag(const Entry& entry, std::uint32_t tag) {
    tags[static_cast<std::size_t>(&entry - entries.data())].store(tag, std::memory_order_relaxed);
  }
  void Clear(Entry& entry) {
    entry = {};
    SetTag(entry, 0);
  }

  Entry* Find(const KeyHash& hash) {
    for (Entry& entry : entries) {
      if (entry.hash == hash && entry.used()) return &entry;
    }
    return nullptr;
  }

  // Returns a free entry, else an expired one, else the least recently used one.
  Entry& Replaceable(SteadyTime now) {
    const auto last_use = [&](const Entry& entry) {
      return entry.until <= now ? kNever : entry.last_used;
    };
    return *std::min_element(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
      return last_use(a) < last_use(b);
    });
  }
};

Micros RefillTime(const LimitNumbers& limit, std::int64_t missing, Micros longest) {
  const double wait = static_cast<double>(missing) * static_cast<double>(limit.rate_den) *
                      static_cast<double>(limit.interval.count()) /
                      static_cast<double>(limit.rate_num);
  return Micros{
      static_cast<std::int64_t>(std::ceil(std::min(wait, static_cast<double>(longest.count()))))};
}

// `retry_after` is that of the lowest denied cost. A costlier call waits for further refill of a
// bucket; for windows nothing more is known.
Verdict Denial::VerdictOf(const LimitNumbers& limit, std::int64_t call_cost) const {
  Verdict verdict{.outcome = Outcome::kDenied,
                  .limit = limit.cap,
                  .remaining = remaining,
                  .retry_after = retry_after,
                  .reset_after = reset_after};
  if (call_cost == cost) {
    verdict.outcome = outcome;
  } else if (call_cost - remaining > limit.cap) {  // `remaining` may include a grant.
    verdict.outcome = Outcome::kNeverFits;
    verdict.retry_after = kMaxWait;
  } else if (Refills(limit)) {
    verdict.retry_after += RefillTime(limit, call_cost - cost, kMaxWait - retry_after);
  }
  return verdict;
}

DenialTable::DenialTable(const TableOptions& options)
    : set_count_(std::bit_ceil(std::max<std::size_t>(options.max_denials / kWays, 1))),
      sets_(std::make_unique<Set[]>(set_count_)) {}

DenialTable::~DenialTable() = default;

DenialTable::Set& DenialTable::SetOf(const KeyHash& hash) const {
  return sets_[hash.high & (set_count_ - 1)];
}

Denial DenialTable::Find(const Key& key, const Limit& limit, std::int64_t cost,
                         const TimeSource& now) const {
  return Find(key, limit, cost, now, false);
}

Denial DenialTable::FindOrProbe(const Key& key, const Limit& limit, std::int64_t cost,
                                const TimeSource& now) {
  return Find(key, limit, cost, now, true);
}

Denial DenialTable::Find(const Key& key, const Limit& limit, std::int64_t cost,
                         const TimeSource& time, bool may_probe) const {
  const KeyHash hash = hasher_(key);
  Set& set = SetOf(hash);
  if (!set.MayHave(hash)) return {};
  const std::lock_guard guard(set.lock);
  Entry* const entry = set.Find(hash);
  if (entry == nullptr || cost < entry->cost || entry->limit != FingerprintOf(limit.numbers())) {
    return {};
  }
  const SteadyTime now = time();
  if (now >= entry->until) return {};
  entry->last_used = now;
  Denial denial{.advice = DenialAdvice::kDenied,
                .outcome = entry->outcome,
                .cost = entry->cost,
                .remaining = entry->remaining,
                .retry_after = entry->until - now,
                .reset_after = std::max(entry->reset_at - now, Micros{0})};
  if (now < entry->next_check || (entry->IsProbed(now) && !entry->is_stale)) return denial;
  denial.advice = may_probe ? DenialAdvice::kProbe : DenialAdvice::kDue;
  if (may_probe && !entry->IsProbed(now)) {
    entry->probe_began = now;
    const SteadyTime last_check = entry->next_check - entry->recheck;
    entry->is_stale = now > last_check + kLongestRecheck + kOverdue;
  }
  return denial;
}

void DenialTable::Denied(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime sent,
                         const Verdict& verdict, CheckKind kind) {
  const std::uint64_t fingerprint = FingerprintOf(limit.numbers());
  const KeyHash hash = hasher_(key);
  Set& set = SetOf(hash);
  const std::lock_guard guard(set.lock);
  Entry* entry = set.Find(hash);
  const bool is_probe = entry != nullptr && kind != CheckKind::kOrdinary && entry->EndProbe();
  if (sent <= set.dropped || verdict.retry_after <= Micros{0}) return;
  const bool known = entry != nullptr && entry->limit == fingerprint && sent < entry->until;
  if (known) {
    // The lower cost covers more calls. A real check replaces the entry by its own cost, because
    // lower costs may pass now.
    const bool newer = sent >= entry->sent;
    const bool better = cost < entry->cost || (newer && cost == entry->cost) ||
                        (newer && kind != CheckKind::kOrdinary);
    if (!better) return;
  } else {
    if (entry == nullptr) entry = &set.Replaceable(sent);
    *entry = {.hash = hash, .limit = fingerprint, .recheck = kFirstRecheck};
    entry->last_used = sent;
    set.SetTag(*entry, Set::TagOf(hash));
  }
  if (kind == CheckKind::kRestart) entry->recheck = kFirstRecheck;
  if (kind == CheckKind::kProbe && known && is_probe) {
    entry->recheck = std::min(2 * entry->recheck, kLongestRecheck);
  }
  entry->outcome = verdict.outcome;
  entry->cost = cost;
  entry->remaining = verdict.remaining;
  entry->sent = sent;
  entry->until = sent + std::min(verdict.retry_after, kMaxWait);
  entry->reset_at = sent + std::min(verdict.reset_after, kMaxWait);
  entry->next_check = sent + entry->recheck;
}

void DenialTable::Passed(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime sent) {
  const KeyHash hash = hasher_(key);
  Set& set = SetOf(hash);
  const std::lock_guard guard(set.lock);
  Entry* const entry = set.Find(hash);
  if (entry == nullptr || entry->limit != FingerprintOf(limit.numbers())) return;
  entry->EndProbe();
  if (cost >= entry->cost && sent >= entry->sent) set.Clear(*entry);
}

void DenialTable::Failed(const Key& key, SteadyTime now) {
  const KeyHash hash = hasher_(key);
  Set& set = SetOf(hash);
  const std::lock_guard guard(set.lock);
  Entry* const entry = set.Find(hash);
  if (entry == nullptr || !entry->EndProbe()) return;
  entry->next_check = now + entry->recheck;
}

void DenialTable::Unprobe(const Key& key) {
  const KeyHash hash = hasher_(key);
  Set& set = SetOf(hash);
  const std::lock_guard guard(set.lock);
  Entry* const entry = set.Find(hash);
  if (entry != nullptr) entry->EndProbe();
}

void DenialTable::Drop(const Key& key, SteadyTime now) {
  const KeyHash hash = hasher_(key);
  Set& set = SetOf(hash);
  const std::lock_guard guard(set.lock);
  set.dropped = std::max(set.dropped, now);
  Entry* const entry = set.Find(hash);
  if (entry != nullptr) set.Clear(*entry);
}

void DenialTable::CountAnswer() {
  static std::atomic<std::size_t> threads{0};
  // Relaxed: it only spreads threads over counters.
  static thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
  // Relaxed: nothing else is read through a counter.
  answers_[mine % answers_.size()].value.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t DenialTable::answers() const {
  std::uint64_t sum = 0;
  for (const SharedCounter& counter : answers_) {
    sum += counter.value.load(std::memory_order_relaxed);  // Relaxed, as above.
  }
  return sum;
}

}  // namespace sluice::denial

#include "lease/lease_table.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "algo/algorithm_info.h"
#include "base/owned_key.h"
#include "base/spin_lock.h"
#include "lease/key_leases.h"

namespace sluice::lease {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFF;
constexpr std::size_t kMostShards = 64;
constexpr std::size_t kLeastKeysPerShard = 64;
/// A sweep examines one of this many parts of a shard for keys to drop.
constexpr std::size_t kSweepParts = 512;

std::size_t ShardCount(std::size_t max_keys) {
  return std::bit_floor(std::clamp<std::size_t>(max_keys / kLeastKeysPerShard, 1, kMostShards));
}

}  // namespace

struct LeaseTable::Entry {
  KeyHash hash{};
  std::uint32_t next = kNone;  ///< In its chain, or among the free.
  bool used = false;
  bool watched = false;
  std::optional<Limit> limit;
  OwnedKey key;
  std::uint32_t series = 0;
  KeyLeases leases;
  TableStats stats;
};

/// A shard of the keys: a pool of entries in hash chains that begin at `heads`.
class LeaseTable::Shard {
 public:
  void Make(std::size_t keys) {
    pool_.reserve(keys);  // Address space only, until there are keys.
    due_.reserve(keys);
    heads_.assign(std::bit_ceil(keys), kNone);
    watched_.reserve(keys);
  }

  Entry* Find(const KeyHash& hash) {
    for (std::uint32_t i = Head(hash); i != kNone; i = pool_[i].next) {
      if (pool_[i].hash == hash) return &pool_[i];
    }
    return nullptr;
  }

  /// Returns whether nothing is held or requested of the key, nor was it called just now.
  bool IsCold(const KeyHash& hash, SteadyTime now) {
    const Entry* const entry = Find(hash);
    return entry == nullptr || entry->leases.IsCold(now);
  }

  /// Returns nullptr if there is no room.
  Entry* FindOrMake(const KeyHash& hash, const Key& key, const Limit& limit, SteadyTime now) {
    Entry* entry = Find(hash);
    if (entry == nullptr) entry = Make(hash, key, limit, now);
    if (entry != nullptr && *entry->limit != limit) {
      // Its numbers changed: returns the tokens of the old limit.
      entry->leases.Surrender(entry->stats);
      entry->leases.Changed();
      entry->limit = limit;
      due_[IndexOf(*entry)] = now;
    }
    return entry;
  }

  /// Includes a key in the following sweeps. Returns whether it was not included before.
  bool Watch(Entry& entry) {
    due_[IndexOf(entry)] = SteadyTime{};
    if (std::exchange(entry.watched, true)) return false;
    watched_.push_back(IndexOf(entry));
    return true;
  }

  /// Returns the number of keys that no longer need sweeps.
  std::size_t Sweep(SteadyTime now, const Sink& send) {
    const std::size_t let_go = std::erase_if(watched_, [&](std::uint32_t index) {
      if (now < due_[index]) return false;
      Entry& entry = pool_[index];
      entry.leases.Tidy(now, entry.limit->numbers(), entry.stats);
      if (entry.leases.HasReturns())
        send(entry.key.view(), *entry.limit, entry.leases.TakeReturns());
      due_[index] = entry.leases.NextTidy(now, entry.limit->cap());
      entry.watched = entry.leases.holds_any();
      return !entry.watched;
    });
    const std::size_t places = std::max<std::size_t>(pool_.size() / kSweepParts, 1);
    for (std::size_t i = 0; i < places; ++i) ForgetNext(now);
    return let_go;
  }

  void SurrenderAll(const Sink& send) {
    for (const std::uint32_t index : watched_) {
      Entry& entry = pool_[index];
      entry.leases.Surrender(entry.stats);
      if (entry.leases.HasReturns())
        send(entry.key.view(), *entry.limit, entry.leases.TakeReturns());
    }
  }

  /// Adds the counters of its keys, including dropped ones.
  void AddStats(std::vector<TableStats>& sums) const {
    const auto add = [&](std::uint32_t series, const TableStats& stats, std::size_t keys) {
      if (sums.size() <= series) sums.resize(series + 1);
      sums[series] += stats;
      sums[series].keys += keys;
    };
    for (const auto& [series, stats] : forgotten_) add(series, stats, 0);
    for (const Entry& entry : pool_) {
      if (entry.used) add(entry.series, entry.stats, 1);
    }
  }

  SpinLock lock;

 private:
  std::uint32_t& Head(const KeyHash& hash) { return heads_[hash.low & (heads_.size() - 1)]; }
  std::uint32_t IndexOf(const Entry& entry) {
    return static_cast<std::uint32_t>(&entry - pool_.data());
  }

  Entry* Make(const KeyHash& hash, const Key& key, const Limit& limit, SteadyTime now) {
    constexpr int kTries = 16;
    for (int i = 0; i < kTries && free_ == kNone; ++i) ForgetNext(now);
    if (free_ == kNone && !AddPlace()) return nullptr;
    const std::uint32_t index = free_;
    Entry& entry = pool_[index];
    free_ = entry.next;
    entry.hash = hash;
    entry.used = true;
    entry.limit = limit;
    entry.leases = {};
    entry.stats = {};
    entry.key = key;
    entry.next = std::exchange(Head(hash), index);
    return &entry;
  }

  bool AddPlace() {
    if (pool_.size() == pool_.capacity()) return false;
    pool_.emplace_back();
    due_.emplace_back();
    Free(static_cast<std::uint32_t>(pool_.size() - 1));
    return true;
  }

  void ForgetNext(SteadyTime now) {
    if (pool_.empty()) return;
    hand_ = hand_ + 1 < pool_.size() ? hand_ + 1 : 0;
    Entry& entry = pool_[hand_];
    if (!entry.used || entry.watched || !entry.leases.Forgettable(now)) return;
    std::uint32_t* link = &Head(entry.hash);
    while (*link != hand_) link = &pool_[*link].next;
    *link = entry.next;
    entry.used = false;
    forgotten_[entry.series] += entry.stats;
    Free(static_cast<std::uint32_t>(hand_));
  }

  void Free(std::uint32_t index) { pool_[index].next = std::exchange(free_, index); }

  std::vector<Entry> pool_;
  std::vector<std::uint32_t> heads_;
  std::vector<std::uint32_t> watched_;
  std::uint32_t free_ = kNone;
  std::size_t hand_ = 0;
  std::vector<SteadyTime> due_;  ///< When each place's entry is to be looked at, if it is watched.
  std::unordered_map<std::uint32_t, TableStats> forgotten_;  ///< Counts of dropped keys, by series.
};

LeaseTable::LeaseTable(const TableOptions& options, denial::DenialTable& denials)
    : options_(options),
      denials_(denials),
      nodes_(options.nodes),
      shard_count_(ShardCount(options.max_keys)),
      shards_(std::make_unique<Shard[]>(shard_count_)) {
  for (std::size_t i = 0; i < shard_count_; ++i) {
    shards_[i].Make(std::max<std::size_t>(options.max_keys / shard_count_, 1));
  }
}

LeaseTable::~LeaseTable() = default;

LeaseTable::Shard& LeaseTable::ShardOf(const KeyHash& hash) const {
  return shards_[hash.high & (shard_count_ - 1)];
}

bool LeaseTable::MayLease(const Limit& limit) const {
  const bool too_small = limit.cap() < std::max(algo::lease::kSmallestLeased, 4 * nodes());
  return !too_small && algo::InfoOf(limit.algorithm()).leasable;
}

SpendResult LeaseTable::Spend(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime now,
                              SpendAttempt attempt, std::uint32_t series) {
  if (!MayLease(limit)) return {};
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  const bool at_once = attempt == SpendAttempt::kNew || attempt == SpendAttempt::kTry;
  // A call that is only tried comes again, and is counted then.
  if (at_once && options_.calls_before_lease > 0 && shard.IsCold(hash, now) &&
      (attempt == SpendAttempt::kTry || !InDemand(hash, now))) {
    return {};
  }
  Entry* const entry = shard.FindOrMake(hash, key, limit, now);
  if (entry == nullptr) return {};
  entry->series = series;
  SpendResult spent = entry->leases.Peek(cost, now);
  // Relaxed: a lease more or less while the process shuts down.
  if (ended_.load(std::memory_order_relaxed) && at_once &&
      spent.decision == LeaseDecision::kNeedsLease) {
    return {};
  }
  if (spent.decision == LeaseDecision::kNeedsLease && attempt != SpendAttempt::kAnswered &&
      IsDenied(key, limit, cost, now, attempt, spent)) {
    spent.decision = LeaseDecision::kDenied;
    denials_.CountAnswer();
  }
  entry->leases.Spend(cost, now, attempt, spent, entry->stats);
  // The store reported that it grants no lease.
  if (spent.fetch_ahead) {
    spent.fetch_ahead = !denials_.Find(key, limit, kMaxAmount, [&] { return now; }).is_denied();
  }
  return spent;
}

// Returns whether a denial is remembered, and sets `spent`. A new call may become the real check
// that is due.
bool LeaseTable::IsDenied(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime now,
                          SpendAttempt attempt, SpendResult& spent) const {
  using denial::DenialAdvice;
  const auto time = [&] { return now; };
  const bool may_probe = attempt == SpendAttempt::kNew || attempt == SpendAttempt::kAgain;
  const denial::Denial denial = may_probe ? denials_.FindOrProbe(key, limit, cost, time)
                                          : denials_.Find(key, limit, cost, time);
  if (!denial.is_denied()) return false;
  spent.retry_after = std::max(denial.retry_after, Micros{1});
  spent.still_missing = std::max(cost - denial.cost - spent.remaining, std::int64_t{0});
  return denial.advice == DenialAdvice::kDenied ||
         (denial.advice == DenialAdvice::kDue && attempt != SpendAttempt::kTry);
}

bool LeaseTable::CountDemand(const Key& key, const Limit& limit, SteadyTime now) {
  if (!MayLease(limit) || ended_.load(std::memory_order_relaxed)) return false;
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  return shard.IsCold(hash, now) && InDemand(hash, now);
}

SpendResult LeaseTable::Peek(const Key& key, const Limit& limit, std::int64_t cost,
                             SteadyTime now) {
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  const Entry* const entry = shard.Find(hash);
  const bool known = entry != nullptr && *entry->limit == limit;
  if (!known) return {};
  SpendResult spent = entry->leases.Peek(cost, now);
  if (spent.decision == LeaseDecision::kNeedsLease &&
      IsDenied(key, limit, cost, now, SpendAttempt::kAnswered, spent)) {
    spent.decision = LeaseDecision::kDenied;
  }
  return spent;
}

void LeaseTable::Unspend(const Key& key, std::int64_t cost) {
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  Entry* const entry = shard.Find(hash);
  if (entry != nullptr) entry->leases.Unspend(cost, entry->stats);
}

algo::lease::Request LeaseTable::MakeRequest(const Key& key, const Limit& limit,
                                             std::int64_t waiting, std::int64_t least,
                                             SteadyTime now) {
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  Entry* const entry = shard.FindOrMake(hash, key, limit, now);
  if (entry == nullptr) return {.waiting = waiting, .least = least, .nodes = nodes()};
  return entry->leases.MakeRequest(waiting, least, nodes(), now, entry->stats);
}

void LeaseTable::Granted(const Key& key, const Limit& limit, const algo::lease::Request& request,
                         SteadyTime sent, SteadyTime now, const algo::lease::Grant& grant) {
  using CheckKind = denial::DenialTable::CheckKind;
  if (grant.retry_after > Micros{0}) {
    const Verdict verdict{.outcome = Outcome::kDenied,
                          .remaining = grant.left,
                          .retry_after = grant.retry_after,
                          .reset_after = grant.reset_after};
    denials_.Denied(key, limit, request.least, sent, verdict,
                    grant.tokens > 0 ? CheckKind::kRestart : CheckKind::kProbe);
  } else {
    denials_.Passed(key, limit, kMaxAmount, sent);
  }
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  Entry* const entry = shard.Find(hash);
  if (entry == nullptr) return;
  const Micros slack = options_.slack + grant.good_for / options_.slack_part;
  entry->leases.Granted(request.least, sent, now, slack, grant, entry->stats);
  if (shard.Watch(*entry)) ++held_keys_;
}

void LeaseTable::Unanswered(const Key& key, SteadyTime now) {
  denials_.Failed(key, now);
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  Entry* const entry = shard.Find(hash);
  if (entry != nullptr) entry->leases.Unanswered();
}

void LeaseTable::Recall(const Key& key, SteadyTime now, const Sink& send) {
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  Entry* const entry = shard.Find(hash);
  if (entry == nullptr) return;
  entry->leases.Recall(now, entry->stats);
  if (entry->leases.HasReturns())
    send(entry->key.view(), *entry->limit, entry->leases.TakeReturns());
}

void LeaseTable::EndLeasing(const Sink& send) {
  ended_.store(true, std::memory_order_relaxed);
  for (std::size_t i = 0; i < shard_count_; ++i) {
    const std::lock_guard guard(shards_[i].lock);
    shards_[i].SurrenderAll(send);
  }
}

void LeaseTable::Changed(const Key& key) {
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  Entry* const entry = shard.Find(hash);
  if (entry != nullptr) entry->leases.Changed();
}

std::optional<std::int64_t> LeaseTable::TakeLastKnown(const Key& key, const Limit& limit,
                                                      SteadyTime now) {
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  Entry* const entry = shard.Find(hash);
  if (entry == nullptr || *entry->limit != limit) return std::nullopt;
  return entry->leases.TakeLastKnown(limit.numbers(), now);
}

void LeaseTable::Sweep(SteadyTime now, const Sink& send) {
  for (std::size_t i = 0; i < shard_count_; ++i) {
    const std::lock_guard guard(shards_[i].lock);
    held_keys_ -= shards_[i].Sweep(now, send);
  }
}

TableStats LeaseTable::StatsApprox() const {
  TableStats sum;
  for (const TableStats& stats : StatsBySeriesApprox()) sum += stats;
  return sum;
}

std::vector<TableStats> LeaseTable::StatsBySeriesApprox() const {
  std::vector<TableStats> sums;
  for (std::size_t i = 0; i < shard_count_; ++i) {
    const std::lock_guard guard(shards_[i].lock);
    shards_[i].AddStats(sums);
  }
  return sums;
}

}  // namespace sluice::lease

#include "lease/lease_table.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/spin_lock.h"
#include "lease/key_leases.h"

namespace sluice::lease {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFF;
constexpr std::size_t kMostShards = 64;
constexpr std::size_t kLeastKeysPerShard = 64;
/// Every sweep looks at one of so many parts of a shard's places for keys to forget.
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
  std::string text;  ///< The key's parts, one after the other.
  std::size_t scope_size = 0;
  std::size_t tag_size = 0;
  std::uint32_t series = 0;
  KeyLeases leases;
  TableStats stats;

  [[nodiscard]] Key key() const {
    const std::string_view all = text;
    return {.scope = all.substr(0, scope_size),
            .tag = all.substr(scope_size, tag_size),
            .rest = all.substr(scope_size + tag_size)};
  }

  void Remember(const Key& key) {
    text.assign(key.scope).append(key.tag).append(key.rest);
    scope_size = key.scope.size();
    tag_size = key.tag.size();
  }
};

/// A part of the keys: entries in a pool, found through chains that begin at `heads`.
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

  /// nullptr if there is no room.
  Entry* FindOrMake(const KeyHash& hash, const Key& key, const Limit& limit, SteadyTime now) {
    Entry* entry = Find(hash);
    if (entry == nullptr) entry = Make(hash, key, limit, now);
    if (entry != nullptr && *entry->limit != limit) {
      // Its numbers changed: what was taken under the old ones goes back.
      entry->leases.Surrender(entry->stats);
      entry->leases.Changed();
      entry->limit = limit;
      due_[IndexOf(*entry)] = now;
    }
    return entry;
  }

  /// What holds tokens is looked at in sweeps, the next one included. Returns whether it was not
  /// before.
  bool Watch(Entry& entry) {
    due_[IndexOf(entry)] = SteadyTime{};
    if (std::exchange(entry.watched, true)) return false;
    watched_.push_back(IndexOf(entry));
    return true;
  }

  /// Returns how many keys are watched no more.
  std::size_t Sweep(SteadyTime now, const Sink& send) {
    const std::size_t let_go = std::erase_if(watched_, [&](std::uint32_t index) {
      if (now < due_[index]) return false;
      Entry& entry = pool_[index];
      entry.leases.Tidy(now, entry.limit->numbers(), entry.stats);
      if (entry.leases.HasReturns()) send(entry.key(), *entry.limit, entry.leases.TakeReturns());
      due_[index] = entry.leases.NextTidy(now, entry.limit->cap());
      entry.watched = entry.leases.holds_any();
      return !entry.watched;
    });
    const std::size_t places = std::max<std::size_t>(pool_.size() / kSweepParts, 1);
    for (std::size_t i = 0; i < places; ++i) ForgetNext(now);
    return let_go;
  }

  /// Adds what its keys counted, those that are forgotten included.
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
    entry.Remember(key);
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
  std::unordered_map<std::uint32_t, TableStats> forgotten_;  ///< What keys counted, by series.
};

LeaseTable::LeaseTable(const TableOptions& options)
    : options_(options),
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

Spent LeaseTable::Spend(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime now,
                        Turn turn, std::uint32_t series) {
  const bool too_small = limit.cap() < std::max(algo::lease::kSmallestLeased, 4 * nodes());
  if (too_small || !algo::lease::Leasable(limit.algorithm())) return {};
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  Entry* const entry = shard.FindOrMake(hash, key, limit, now);
  if (entry == nullptr) return {};
  entry->series = series;
  return entry->leases.Spend(cost, now, turn, entry->stats);
}

Spent LeaseTable::Look(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime now) {
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  const Entry* const entry = shard.Find(hash);
  const bool known = entry != nullptr && *entry->limit == limit;
  return known ? entry->leases.Look(cost, now) : Spent{};
}

void LeaseTable::Unspend(const Key& key, std::int64_t cost) {
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  Entry* const entry = shard.Find(hash);
  if (entry != nullptr) entry->leases.Unspend(cost, entry->stats);
}

algo::lease::Request LeaseTable::Ask(const Key& key, const Limit& limit, std::int64_t waiting,
                                     std::int64_t least, SteadyTime now) {
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  Entry* const entry = shard.FindOrMake(hash, key, limit, now);
  if (entry == nullptr) return {.waiting = waiting, .least = least, .nodes = nodes()};
  return entry->leases.Ask(waiting, least, nodes(), now, entry->stats);
}

void LeaseTable::Granted(const Key& key, const algo::lease::Request& request, SteadyTime sent,
                         SteadyTime now, const algo::lease::Grant& grant) {
  const KeyHash hash = hasher_(key);
  Shard& shard = ShardOf(hash);
  const std::lock_guard guard(shard.lock);
  Entry* const entry = shard.Find(hash);
  if (entry == nullptr) return;
  const Micros slack = options_.slack + grant.good_for / options_.slack_part;
  entry->leases.Granted(request.least, sent, now, slack, grant, entry->stats);
  if (shard.Watch(*entry)) ++held_keys_;
}

void LeaseTable::Unanswered(const Key& key) {
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
  if (entry->leases.HasReturns()) send(entry->key(), *entry->limit, entry->leases.TakeReturns());
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

TableStats& TableStats::operator+=(const TableStats& other) {
  hits += other.hits;
  denials += other.denials;
  fetches += other.fetches;
  granted += other.granted;
  returned += other.returned;
  recalled += other.recalled;
  expired += other.expired;
  missed += other.missed;
  outstanding += other.outstanding;
  keys += other.keys;
  return *this;
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

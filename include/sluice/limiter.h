#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/decision.h>
#include <sluice/limit.h>
#include <sluice/result.h>
#include <sluice/rules.h>
#include <sluice/time.h>

namespace sluice {

/// The decision if the store fails: no room for the key, or no answer from Redis.
enum class FailureMode : std::uint8_t {
  kOpen,    ///< Allowed, marked degraded.
  kClosed,  ///< Denied, marked degraded.
};

/// A limit with the name under which its keys are counted. Two names never share a budget; a
/// changed limit under the same name goes on with what each key has left. Within one call, a name
/// stands for one limit.
struct NamedLimit {
  std::string name;
  Limit limit;
  FailureMode on_failure = FailureMode::kOpen;
};

/// One limit's part in a call. `limit` and `key` must live until the check returns.
struct LimitUse {
  const NamedLimit* limit = nullptr;
  std::string_view key;   ///< Identifies the budget: any bytes, at most kMaxKeyBytes.
  std::int64_t cost = 1;  ///< ≥ 0, above kMaxAmount it counts as that; 0 looks, is never denied.
  Mode mode = Mode::kEnforce;
  bool count_denied = false;  ///< Take what is left (up to the cost) even if the call is denied.
  std::uint64_t slot = 0;     ///< Concurrency: an id of your own; 0 lets the limiter choose.
};

struct LimiterOptions {
  /// Keys that matter are never forgotten; past this many of them, new keys get their limit's
  /// failure mode. Address space (not memory) is reserved in proportion.
  std::size_t max_keys = 10'000'000;
  /// Ceiling for all that the keys occupy, in bytes, histories too; 0: none but max_keys.
  std::size_t max_bytes = 0;
  /// Keep the keys' names, so that ForEachKey can report them. Costs about 250 bytes a key more.
  bool keep_names = false;
  /// Not owned; must outlive the limiter. nullptr: the system's clock.
  const Clock* clock = nullptr;
};

struct RedisLimiterOptions {
  /// redis://[[user]:password@]host[:port][/database][?option=value&…], rediss:// for TLS,
  /// unix:///path for a socket; redis-sentinel://name@host:port,host:port for the primary that
  /// sentinels know by that name, redis-cluster://host:port,host:port for a cluster. A password can
  /// also come from a file or the environment: ?password_file=/run/secrets/redis or
  /// ?password_env=REDIS_PASSWORD.
  std::string url = "redis://127.0.0.1:6379";
  /// How long a call waits for Redis before the limit's failure mode answers.
  Micros deadline = std::chrono::milliseconds(50);
};

/// The state of one key.
struct KeyInfo {
  /// "{<key, percent-encoded>}:<name of the limit>:"; in a listing empty unless names are kept.
  std::string name;
  std::uint64_t id;  ///< Stands for the key in a listing; differs from run to run.
  LimitNumbers limit;
  Verdict verdict;     ///< As a look (cost 0) at this moment would say.
  std::int64_t level;  ///< Signed: below zero is debt. Windows and slots: limit − used.
  std::int64_t grant;  ///< Units left of grants.
  WallTime touched;    ///< When something was last taken or given, or where its window begins.
};

struct LimiterStats {
  std::size_t keys = 0;       ///< Held now, those about to expire included.
  std::size_t bytes = 0;      ///< Occupied by them.
  std::uint64_t expired = 0;  ///< Dropped because they held no information any more.
  std::uint64_t refused = 0;  ///< New keys for which there was no room.
};

/// Decides which calls may pass: in this process's memory, or in a Redis that others share.
///
/// Thread-safe: any number of threads may call everything at any time. In memory, a check takes
/// about the time of a clock read and a few cache misses, and allocates nothing for buckets and
/// windows; CheckBatch overlaps the misses. In Redis, it takes a round trip, which calls of several
/// threads share. Denied is a result; errors are for calls that make no sense.
///
///     auto limiter = sluice::Limiter::InMemory().value();
///     const sluice::NamedLimit per_user{"per_user", *sluice::Limit::TokenBucket(
///         {.capacity = 10, .refill = sluice::Rate::PerSecond(5)})};
///     if (limiter.Check(per_user, "alice")->allowed) { … }
class Limiter {
 public:
  /// Fails with kInvalidOptions only.
  static Result<Limiter> InMemory(const LimiterOptions& options = {});

  /// Limits that any number of programs share, each with a limiter on the same Redis: together they
  /// admit what one would. Redis' clock decides. It starts without Redis, too, and connects when it
  /// can; while it can't, or when Redis does not answer in time, failure modes answer. A thread of
  /// its own talks to Redis. Fails with kInvalidOptions only.
  static Result<Limiter> OnRedis(const RedisLimiterOptions& options);

  Limiter(Limiter&&) noexcept;
  Limiter& operator=(Limiter&&) noexcept;
  ~Limiter();

  /// One limit, one key. `status`, if given, receives the receipt.
  [[nodiscard]] Result<Decision> Check(const NamedLimit& limit, std::string_view key,
                                       std::int64_t cost = 1, LimitStatus* status = nullptr);

  /// Several limits in one atomic decision: it takes from all of them, or from none. `statuses`
  /// is empty or has one element for each use.
  [[nodiscard]] Result<Decision> CheckAll(std::span<const LimitUse> uses,
                                          std::span<LimitStatus> statuses = {});

  /// Many independent checks of one limit each, at one moment: faster than one by one.
  /// `decisions` has one element for each use; `statuses` is empty or has as many. Returns how many
  /// were allowed; refused whole, with nothing taken, if any use is invalid.
  [[nodiscard]] Result<std::size_t> CheckBatch(std::span<const LimitUse> uses,
                                               std::span<Decision> decisions,
                                               std::span<LimitStatus> statuses = {});

  /// By rules: all limits that a call with these attributes matches, in one atomic decision.
  /// `statuses`, if given, receives one element for each of them. kInvalidCost if a rule forbids
  /// the cost.
  [[nodiscard]] Result<RuleDecision> Check(const Rules& rules,
                                           std::span<const Attribute> attributes,
                                           std::int64_t cost = 1,
                                           std::vector<RuleStatus>* statuses = nullptr);
  [[nodiscard]] Result<RuleDecision> Check(const Rules& rules,
                                           std::initializer_list<Attribute> attributes,
                                           std::int64_t cost = 1,
                                           std::vector<RuleStatus>* statuses = nullptr) {
    return Check(rules, std::span(attributes.begin(), attributes.size()), cost, statuses);
  }

  /// Of what a check by rules took from one limit: what was really used, nothing at all, and, for
  /// concurrency, its slot.
  [[nodiscard]] Result<Verdict> Settle(const RuleStatus& taken, std::int64_t actual_cost);
  [[nodiscard]] Result<Verdict> Refund(const RuleStatus& taken);
  bool Release(const RuleStatus& taken);
  bool Renew(const RuleStatus& taken);

  /// Forgets all keys that a call with these attributes would be counted under; returns how many.
  std::size_t Reset(const Rules& rules, std::span<const Attribute> attributes);

  /// Returns the result that Check would have; consumes nothing.
  [[nodiscard]] Result<Decision> Peek(const NamedLimit& limit, std::string_view key,
                                      std::int64_t cost = 1) const;

  /// Forgets the key: it is as if never used. True if there was something to forget.
  bool Reset(const NamedLimit& limit, std::string_view key);

  /// Extra tokens beyond what the limit gives, spent first, until they are used up or the key is
  /// reset. Not for concurrency.
  [[nodiscard]] Result<Verdict> Grant(const NamedLimit& limit, std::string_view key,
                                      std::int64_t amount);

  /// Takes even below zero, and never denies.
  [[nodiscard]] Result<Verdict> Charge(const NamedLimit& limit, std::string_view key,
                                       std::int64_t amount);

  /// Gives back all that the receipt says, to the window it was taken from if that still counts.
  [[nodiscard]] Result<Verdict> Refund(const NamedLimit& limit, std::string_view key,
                                       const Receipt& receipt);

  /// Corrects what was taken to what was really used: the difference is given back, or charged
  /// (even below zero), where the receipt says.
  [[nodiscard]] Result<Verdict> Settle(const NamedLimit& limit, std::string_view key,
                                       const Receipt& receipt, std::int64_t actual_cost);

  /// Concurrency: frees a slot. False if it was free already (released before, or expired).
  bool Release(const NamedLimit& limit, std::string_view key, std::uint64_t slot);

  /// Concurrency: the slot lives for the limit's time to live from now. False if it is gone.
  bool Renew(const NamedLimit& limit, std::string_view key, std::uint64_t slot);

  /// Nothing if the key is as if never used.
  [[nodiscard]] std::optional<KeyInfo> Inspect(const NamedLimit& limit, std::string_view key) const;

  /// Calls `visit` for every key that is live; stops when it returns false. Keys that come or go
  /// meanwhile may or may not be seen. `visit` may call the limiter.
  /// False, and nothing visited, for limits in Redis: list those with SCAN and MATCH sluice:v1:*.
  bool ForEachKey(const std::function<bool(const KeyInfo&)>& visit) const;

  /// Of limits in memory; zeros for those in Redis.
  [[nodiscard]] LimiterStats Stats() const;

 private:
  friend class HttpFilter;
  struct Impl;
  explicit Limiter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/decision.h>
#include <sluice/limit.h>
#include <sluice/result.h>
#include <sluice/rules.h>
#include <sluice/time.h>

namespace sluice {

/// The decision if the store fails: no room for the key, or no reply from Redis.
enum class FailureMode : std::uint8_t {
  kOpen,    ///< Allowed, marked degraded.
  kClosed,  ///< Denied, marked degraded.
};

/// A limit with a name, which is part of its keys. Different names never share a budget; a changed
/// limit with the same name continues with what each key has left. Within one call, a name
/// identifies one limit.
struct NamedLimit {
  std::string name;
  Limit limit;
  FailureMode on_failure = FailureMode::kOpen;
};

/// One limit of a call with its key and cost. `limit` and `key` must stay valid until the check
/// returns.
struct LimitUse {
  const NamedLimit* limit = nullptr;
  std::string_view key;   ///< Identifies the budget: any bytes, at most kMaxKeyBytes.
  std::int64_t cost = 1;  ///< ≥ 0, clamped to kMaxAmount; 0 is a dry run and never denied.
  Mode mode = Mode::kEnforce;
  bool count_denied = false;  ///< If the call is denied, consume what remains, up to the cost.
  std::uint64_t slot = 0;     ///< Concurrency: the slot's id; 0: chosen by the limiter.
};

/// A limit that one limiter has prepared for many checks (Limiter::Prepare). Immutable: threads may
/// share it. Another limiter accepts it, too, but gains nothing by it.
class PreparedLimit {
 public:
  [[nodiscard]] const NamedLimit& limit() const noexcept { return limit_; }

 private:
  friend class Limiter;
  explicit PreparedLimit(NamedLimit limit) : limit_(std::move(limit)) {}

  NamedLimit limit_;
  const void* store_ = nullptr;  // The store whose hash of the name this is; null: not hashed.
  std::array<std::uint64_t, 2> name_hash_{};
};

/// The result of a check with a prepared limit. Small and trivially copyable; verdict and receipt
/// are computed when they are asked for.
class CheckResult {
 public:
  CheckResult() noexcept : bucket_{} {}

  /// False for an invalid call: a negative cost, or a key that is too long. Nothing was counted.
  [[nodiscard]] bool ok() const noexcept { return form_ != Form::kInvalid; }
  /// Precondition: !ok().
  [[nodiscard]] ErrorCode error() const noexcept { return error_; }
  [[nodiscard]] bool allowed() const noexcept { return allowed_; }
  /// The store failed; the limit's failure mode decided.
  [[nodiscard]] bool degraded() const noexcept { return degraded_; }
  [[nodiscard]] Verdict verdict() const noexcept;
  [[nodiscard]] Receipt receipt() const noexcept;

 private:
  friend class Limiter;
  enum class Form : std::uint8_t { kInvalid, kBucket, kStatus };
  struct Bucket {  // A token bucket after the check.
    std::int64_t now;
    std::int64_t at;
    std::int64_t value;
    std::int64_t cost;
  };
  explicit CheckResult(ErrorCode error) noexcept : error_(error), bucket_{} {}
  CheckResult(const Decision& decision, const LimitStatus& status) noexcept
      : form_(Form::kStatus),
        allowed_(decision.allowed),
        degraded_(decision.degraded),
        status_{decision.tightest, status.receipt} {}
  CheckResult(bool allowed, std::uint32_t shape, const Bucket& bucket) noexcept
      : form_(Form::kBucket), allowed_(allowed), shape_(shape), bucket_(bucket) {}

  Form form_ = Form::kInvalid;
  bool allowed_ = false;
  bool degraded_ = false;
  union {
    ErrorCode error_ = ErrorCode::kInvalidCost;
    std::uint32_t shape_;  // Of the limit's numbers (Limit::shape), which are never forgotten.
  };
  union {
    Bucket bucket_;
    LimitStatus status_;
  };
};

struct LimiterOptions {
  /// Maximum number of active keys, which are never evicted; when full, new keys get their limit's
  /// failure mode. Reserves address space (not memory) in proportion.
  std::size_t max_keys = 10'000'000;
  /// Maximum memory for keys in bytes, including histories; 0: only max_keys applies.
  std::size_t max_bytes = 0;
  /// Keep the names of keys for ForEachKey. Costs about 250 bytes more per key.
  bool keep_names = false;
  /// Not owned; must outlive the limiter. nullptr: the system's clock, of which a check may see a
  /// time that is a few microseconds old.
  const Clock* clock = nullptr;
};

struct RedisLimiterOptions {
  /// redis://[[user]:password@]host[:port][/database][?option=value&…], rediss:// for TLS,
  /// unix:///path for a socket; redis-sentinel://name@host:port,host:port for the primary that
  /// sentinels know by that name, redis-cluster://host:port,host:port for a cluster. A password can
  /// also come from a file or the environment: ?password_file=/run/secrets/redis or
  /// ?password_env=REDIS_PASSWORD.
  std::string url = "redis://127.0.0.1:6379";
  /// Timeout of a call to Redis; afterwards the limit's failure mode decides.
  Micros deadline = std::chrono::milliseconds(50);
};

/// The state of one key.
struct KeyInfo {
  /// "{<key, percent-encoded>}:<name of the limit>:"; in a listing, empty unless names are kept.
  std::string name;
  std::uint64_t id;  ///< Identifies the key in a listing; differs between runs.
  LimitNumbers limit;
  Verdict verdict;  ///< Of a dry run (cost 0) at this moment.
  std::int64_t
      level;  ///< Remaining without grants; negative in debt. Windows and slots: limit − used.
  std::int64_t grant;  ///< Units left of grants.
  WallTime touched;    ///< Time of the last change, or the start of the window.
};

struct LimiterStats {
  std::size_t keys = 0;       ///< In memory, including those about to expire.
  std::size_t bytes = 0;      ///< Memory of those.
  std::uint64_t expired = 0;  ///< Dropped because they were fresh.
  std::uint64_t refused = 0;  ///< New keys without room.
};

/// Decides which calls may pass, with limits in the memory of this process or in a shared Redis.
///
/// Thread-safe. In memory, a check takes about the time of a clock read and a few cache misses, and
/// does not allocate for buckets and windows; CheckBatch overlaps the misses. In Redis, it takes a
/// round trip, which concurrent calls share. Denied is a result; errors are for invalid calls.
///
///     auto limiter = sluice::Limiter::InMemory().value();
///     const sluice::NamedLimit per_user{"per_user", *sluice::Limit::TokenBucket(
///         {.capacity = 10, .refill = sluice::Rate::PerSecond(5)})};
///     if (limiter.Check(per_user, "alice")->allowed) { … }
class Limiter {
 public:
  /// Fails with kInvalidOptions only.
  static Result<Limiter> InMemory(const LimiterOptions& options = {});

  /// Limits shared by any number of programs that use the same Redis; together they admit as much
  /// as one would. Time is Redis' clock. Starts without Redis, too, and connects when possible;
  /// while Redis does not answer in time, failure modes decide. Runs its own thread. Fails with
  /// kInvalidOptions only.
  static Result<Limiter> OnRedis(const RedisLimiterOptions& options);

  Limiter(Limiter&&) noexcept;
  Limiter& operator=(Limiter&&) noexcept;
  ~Limiter();

  /// Checks one limit and key. `status`, if given, receives verdict and receipt.
  [[nodiscard]] Result<Decision> Check(const NamedLimit& limit, std::string_view key,
                                       std::int64_t cost = 1, LimitStatus* status = nullptr);

  /// Prepares a limit for checks that leave out what most callers never read: in memory, those of a
  /// token bucket take half the time.
  [[nodiscard]] PreparedLimit Prepare(NamedLimit limit) const;
  [[nodiscard]] CheckResult Check(const PreparedLimit& limit, std::string_view key,
                                  std::int64_t cost = 1);
  /// Makes independent checks of one limit, each of the same cost. `results` has one element for
  /// each key. Returns the number of allowed ones; kInvalidOptions if there are too few results.
  /// Invalid keys have results that are not ok().
  [[nodiscard]] Result<std::size_t> CheckBatch(const PreparedLimit& limit,
                                               std::span<const std::string_view> keys,
                                               std::span<CheckResult> results,
                                               std::int64_t cost = 1);

  /// Checks several limits in one atomic decision: consumes from all or from none. `statuses` is
  /// empty or has one element for each use.
  [[nodiscard]] Result<Decision> CheckAll(std::span<const LimitUse> uses,
                                          std::span<LimitStatus> statuses = {});

  /// Makes independent checks of one limit each, faster than one by one. `decisions` has one
  /// element for each use; `statuses` is empty or has as many. Returns the number of allowed ones.
  /// Fails as a whole, and consumes nothing, if any use is invalid.
  [[nodiscard]] Result<std::size_t> CheckBatch(std::span<const LimitUse> uses,
                                               std::span<Decision> decisions,
                                               std::span<LimitStatus> statuses = {});

  /// Checks all limits of rules that a call with these attributes matches, in one atomic decision.
  /// `statuses`, if given, receives one element for each limit. kInvalidCost if a rule forbids the
  /// cost.
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

  /// Settle or refund one limit of a check by rules; release or renew its slot (concurrency).
  [[nodiscard]] Result<Verdict> Settle(const RuleStatus& taken, std::int64_t actual_cost);
  [[nodiscard]] Result<Verdict> Refund(const RuleStatus& taken);
  bool Release(const RuleStatus& taken);
  bool Renew(const RuleStatus& taken);

  /// Resets all keys that a call with these attributes matches. Returns their number.
  std::size_t Reset(const Rules& rules, std::span<const Attribute> attributes);

  /// Returns the result that Check would have; consumes nothing.
  [[nodiscard]] Result<Decision> Peek(const NamedLimit& limit, std::string_view key,
                                      std::int64_t cost = 1) const;

  /// Makes the key fresh. Returns whether it was not.
  bool Reset(const NamedLimit& limit, std::string_view key);

  /// Adds extra units, consumed before the limit itself, until they are used up or the key is
  /// reset. Not for concurrency.
  [[nodiscard]] Result<Verdict> Grant(const NamedLimit& limit, std::string_view key,
                                      std::int64_t amount);

  /// Consumes even below zero; never denies.
  [[nodiscard]] Result<Verdict> Charge(const NamedLimit& limit, std::string_view key,
                                       std::int64_t amount);

  /// Refunds the receipt to the window that it was consumed from, if that still counts.
  [[nodiscard]] Result<Verdict> Refund(const NamedLimit& limit, std::string_view key,
                                       const Receipt& receipt);

  /// Corrects the cost of the receipt to the actual usage: refunds or charges (even below zero) the
  /// difference.
  [[nodiscard]] Result<Verdict> Settle(const NamedLimit& limit, std::string_view key,
                                       const Receipt& receipt, std::int64_t actual_cost);

  /// Concurrency: releases a slot. Returns false if it was already released or expired.
  bool Release(const NamedLimit& limit, std::string_view key, std::uint64_t slot);

  /// Concurrency: restarts the slot's time to live. Returns false if it was released or expired.
  bool Renew(const NamedLimit& limit, std::string_view key, std::uint64_t slot);

  /// Returns the state of a key; nothing if it is fresh.
  [[nodiscard]] std::optional<KeyInfo> Inspect(const NamedLimit& limit, std::string_view key) const;

  /// Calls `visit` for every active key until it returns false. Keys added or dropped meanwhile may
  /// or may not be visited. `visit` may call the limiter. Returns false, without visiting any, for
  /// limits in Redis: list those with SCAN and MATCH sluice:v1:*.
  bool ForEachKey(const std::function<bool(const KeyInfo&)>& visit) const;

  /// Statistics of limits in memory; zeros with Redis.
  [[nodiscard]] LimiterStats Stats() const;

 private:
  friend class HttpFilter;
  struct Impl;
  explicit Limiter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice

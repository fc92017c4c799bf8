#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/decision.h>
#include <sluice/limit.h>
#include <sluice/result.h>
#include <sluice/time.h>

namespace sluice {

/// A name and a value that describe a call: "api_key" is "sk_prod_1". Any bytes.
struct Attribute {
  std::string_view name;
  std::string_view value;
};

/// How much of something a call uses: 812 "input_tokens". Rules say what each limit counts.
struct UsedQuantity {
  std::string_view name;
  std::int64_t amount = 0;  ///< Between 0 and kMaxAmount.
};

/// The outcome of a call that was evaluated by rules.
enum class Ruling : std::uint8_t {
  kDecided,      ///< By limits.
  kAllowListed,  ///< Passes without limits.
  kDenyListed,
  kNoRule,       ///< No rule matches it: the rules' `default`, which is to allow it.
  kNotEnforced,  ///< Enforcement is off.
  kDegraded,     ///< The store failed: the rules' failure mode decided.
  kInvalid,      ///< The call is invalid; nothing was consumed.
  kBlocked,      ///< By a live entry of a server; programs that use the library have none.
  kExempted,     ///< Passes without limits by a live entry of a server.
};

/// One limit that a call matched, with the data to settle, refund or release it later.
struct RuleStatus {
  std::string rule;        ///< The rule's id.
  std::string name;        ///< The limit's, unique in its rule.
  bool is_shadow = false;  ///< Evaluated, but not enforced.
  Limit limit;
  Verdict verdict;
  Receipt receipt;
  std::string scope{}, tag{}, rest{};  ///< The parts of its key.
  bool is_leased = false;              ///< Its rule has `consistency: leased`.
  std::int64_t scale = 1;  ///< `limit` and `receipt` count parts, of which a unit has this many.
};

/// What a call with named quantities has reserved, until it is settled or canceled. Empty if
/// nothing was reserved. Movable; for one thread at a time.
class Reservation {
 public:
  Reservation();
  Reservation(Reservation&&) noexcept;
  Reservation& operator=(Reservation&&) noexcept;
  ~Reservation();

  [[nodiscard]] bool empty() const noexcept { return impl_ == nullptr; }

 private:
  friend class Limiter;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The effect of a settlement on one limit.
struct SettledStatus {
  std::string rule;
  std::string name;
  Verdict verdict;
  std::int64_t charged = 0;  ///< The charge in effect; of money in nano-dollars.
  bool is_capped = false;    ///< The limit's `max_settlement` is less than what was used.
};

struct SettledUse {
  /// Partial settlements: an enforced limit has nothing left beyond what the call has used.
  bool stop = false;
  std::vector<SettledStatus> limits{};
};

struct RuleDecision {
  Ruling ruling = Ruling::kInvalid;
  bool allowed = false;
  bool degraded = false;
  Verdict
      tightest{};  ///< Reported to the caller, as in `Decision`. Only for kDecided and kDegraded.
  std::string rule{};  ///< Rule and name of that limit.
  std::string limit{};
};

/// A view of the active rules.
struct RulesInfo {
  std::uint64_t version = 0;  ///< 1, 2, …: one for each activated content.
  std::string fingerprint;    ///< SHA-256 of the file's content.
  std::size_t rules = 0;
  WallTime since{};
  bool failing = false;    ///< The last load failed; the previous rules stay active.
  std::string last_error;  ///< All its errors, one per line.
};

/// Rules in the language of docs/rules.md. Compiled once, replaced as a whole between two checks,
/// and matched without a lock. Thread-safe.
///
///     auto rules = sluice::Rules::FromFile("rules.yaml").value();
///     auto limiter = sluice::Limiter::InMemory().value();
///     const auto decision = limiter.Check(rules, {{"api_key", key}, {"endpoint", path}});
class Rules {
 public:
  /// The error lists every problem of the file, one per line.
  static Result<Rules> FromText(std::string_view yaml, const std::string& name = "rules");
  /// Reads the file and watches it with its own thread: a valid change takes effect within a
  /// second.
  static Result<Rules> FromFile(const std::string& path);

  Rules(Rules&&) noexcept;
  Rules& operator=(Rules&&) noexcept;
  ~Rules();

  /// Replaces the active rules if the text is valid. Returns the new version.
  [[nodiscard]] Result<std::uint64_t> Replace(std::string_view yaml);
  /// Activates the content of an earlier version again. The last ten are kept.
  [[nodiscard]] Result<std::uint64_t> Rollback(std::uint64_t version);

  [[nodiscard]] RulesInfo Info() const;

 private:
  friend class HttpFilter;
  friend class Limiter;
  struct Impl;
  explicit Rules(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace sluice

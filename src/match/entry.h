#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/time.h>

#include "base/decimal.h"
#include "rules/model.h"

namespace sluice::match {

/// One condition of an entry's matcher, on one attribute of a call.
struct EntryCondition {
  std::string attribute;
  rules::PatternKind kind = rules::PatternKind::kExact;  ///< Exact, glob or CIDR.
  std::string value{};  ///< In the form in which calls are compared: addresses, hosts and methods.

  friend bool operator==(const EntryCondition&, const EntryCondition&) = default;
};

enum class EntryEffect : std::uint8_t {
  kBlock,      ///< Denies the call. No rule is evaluated.
  kAllow,      ///< Admits the call. No rule is evaluated.
  kUnlimited,  ///< Limits are evaluated and counted, but don't deny.
  kLimit,      ///< Other numbers for the limits that the call matches.
  kMultiply,   ///< Their numbers times a factor.
};
constexpr std::array<std::string_view, 5> LabelsOf(EntryEffect /*any*/) {
  return {"block", "allow", "unlimited", "limit", "multiply"};
}

/// The class of a matcher: that of its least specific condition. The more specific comes first.
enum class EntryKind : std::uint8_t { kExact, kCidr, kGlob };
constexpr std::array<std::string_view, 3> LabelsOf(EntryKind /*any*/) {
  return {"exact", "cidr", "glob"};
}

/// What an entry has that the server made by itself, because a rule kept denying a caller.
struct EntryPenalty {
  std::string rule{};           ///< The rule that denied.
  std::string rules_version{};  ///< In force at the offense.
  std::uint32_t step = 1;       ///< 1: the first of the rule's steps.
  std::uint64_t offenses = 1;   ///< So far, also forgotten ones.
  WallTime forgotten_at{};      ///< From then on, the next offense begins with the first step.
  bool shadow = false;          ///< Has no effect; calls that it would concern are counted.
  bool without_key = false;     ///< Only for calls without a known API key.

  friend bool operator==(const EntryPenalty&, const EntryPenalty&) = default;
};

/// A live entry: an operator's decision about some callers, consulted before the rules
/// (docs/entries.md).
struct Entry {
  static constexpr WallTime kNever = WallTime::max();
  static constexpr int kForbidden = 403;
  static constexpr int kTooManyRequests = 429;

  std::string id;
  std::vector<EntryCondition> match;  ///< All must hold. Sorted by attribute, no attribute twice.
  std::string rule{};                 ///< Empty: all rules.
  std::string limit_name{};           ///< Empty: all limits of the rule. Only with `rule`.
  EntryEffect effect = EntryEffect::kBlock;
  std::int64_t limit = 0;   ///< kLimit.
  Micros period{0};         ///< kLimit: 0 keeps the period of the rule's limit.
  Decimal factor{};         ///< kMultiply.
  int status = kForbidden;  ///< kBlock: of the response.
  std::string reason{};
  std::string author{};
  WallTime created{};
  WallTime expires_at = kNever;           ///< From then on, it has no effect.
  std::optional<EntryPenalty> penalty{};  ///< Not set: an operator made it.

  friend bool operator==(const Entry&, const Entry&) = default;
};

[[nodiscard]] EntryKind KindOf(const Entry& entry);

/// Whether the matcher fits every call: it has no condition, or only conditions such as "*" and
/// 0.0.0.0/0.
[[nodiscard]] bool FitsEveryCall(const Entry& entry);

/// Whether `a` takes precedence over `b`, of entries that both match a call: more conditions, then
/// the more specific kind, then the newer one, then the smaller id.
[[nodiscard]] bool Precedes(const Entry& a, const Entry& b);

/// An entry in the table of a process. Immutable but for the time of its last use.
struct LiveEntry {
  explicit LiveEntry(Entry its_entry) : entry(std::move(its_entry)), kind(KindOf(entry)) {}

  const Entry entry;
  const EntryKind kind;
  /// Seconds since 1970, about; 0: not used yet. Relaxed: it guards nothing.
  mutable std::atomic<std::int64_t> last_used{0};

  void NoteUse(WallTime now) const {
    const std::int64_t second =
        std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
    if (last_used.load(std::memory_order_relaxed) != second) {
      last_used.store(second, std::memory_order_relaxed);
    }
  }
};

}  // namespace sluice::match

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <sluice/decision.h>
#include <sluice/limit.h>
#include <sluice/result.h>
#include <sluice/time.h>

#include "algo/lease.h"
#include "base/key.h"

namespace sluice::store {

/// The result of kInspect for one key.
struct Inspection {
  bool live = false;       ///< False: fresh.
  std::int64_t level = 0;  ///< `remaining` without grants; negative in debt.
  std::int64_t grant = 0;
  std::int64_t expiring_grant = 0;  ///< The part of `grant` that ends at `grant_expires`.
  WallTime grant_expires{};
  std::int64_t leased = 0;  ///< Reported by nodes; not part of `level`.
  WallTime touched{};       ///< Time of the last change, or the start of the window.
  /// Time until the key is fresh by the numbers of the limit that it was last used with; 0: it is.
  Micros fresh_after{0};
};

/// A node's lease request and the store's reply: see docs/leases.md.
struct Lending {
  algo::lease::Request request;
  algo::lease::Grant grant;  ///< Result of kFetch.
};

/// What a settlement does to the charge of its receipt.
enum class SettlementStep : std::uint8_t {
  kFinal,    ///< Corrects it to the adjustment's `cost`. Later steps have no effect.
  kPartial,  ///< Raises it to `cost`, a running total; never lowers it.
  kMove,     ///< Leaves it to another receipt. Later steps of this one have no effect.
};

/// The last step of a receipt, and the charge since then.
struct SettlementMark {
  std::int64_t total = 0;
  SettlementStep step = SettlementStep::kFinal;

  friend bool operator==(const SettlementMark&, const SettlementMark&) = default;
};

/// Makes an adjustment idempotent: it takes effect once per receipt and key. The store remembers
/// the settled total until the receipt expires.
struct Settlement {
  static constexpr std::uint32_t kMaxPerKey = 100'000;

  std::uint64_t receipt = 0;  ///< The receipt's id, unique among those of the key.
  /// The total is remembered until then; later adjustments have no effect.
  WallTime expires{};
  /// Maximum number of remembered totals per key; beyond it the call fails with
  /// kTooManySettlements.
  std::uint32_t max_per_key = kMaxPerKey;
  SettlementStep step = SettlementStep::kFinal;
  /// Results. The charge in effect, and the charge before this adjustment.
  std::int64_t total = 0;
  std::int64_t charged = 0;
  bool repeated = false;  ///< The receipt was settled or moved before; this had no effect.
  SettlementStep ended_by = SettlementStep::kFinal;  ///< Of a repeated one: kFinal or kMove.
};

/// The capacity of a bounded store that a new key may use.
enum class KeyKind : std::uint8_t {
  kOrdinary,
  kFromCaller,  ///< Of a limit in a request: limited to a share of the capacity.
  kOverflow,    ///< Shared by keys without room: uses reserved capacity.
};

/// One key of a call with its limit and cost; once the call is done, also the result.
struct KeyUse {
  Key key;
  const Limit* limit = nullptr;
  std::int64_t cost = 1;  ///< ≥ 0; clamped to kMaxAmount.
  Mode mode = Mode::kEnforce;
  bool count_denied = false;  ///< If the call is denied, consume what remains, up to the cost.
  bool only_looks = false;    ///< Evaluate the cost, but consume nothing.
  KeyKind kind = KeyKind::kOrdinary;
  bool no_room = false;  ///< Result of a call that failed with kStoreFull: this key had no room.
  /// An enforced check may be decided by leased tokens.
  bool may_lease = false;
  std::uint32_t series = 0;  ///< The number under which its leases are counted.
  std::uint64_t slot = 0;    ///< Concurrency; 0 lets the store choose an id.
  /// Result of a check; input of an adjustment. Of a grant, `grant_expires` is both: until when it
  /// is, and until when the key has it together with an earlier one.
  Receipt receipt;
  Verdict verdict;                   ///< Result.
  Inspection* inspection = nullptr;  ///< kInspect: receives the result.
  Lending* lending = nullptr;        ///< kFetch and kReturn.
  Settlement* settlement = nullptr;  ///< kAdjust; null: takes effect each time.
};

enum class Operation : std::uint8_t {
  kCheck,    ///< Consumes from all keys or from none.
  kPeek,     ///< Returns the result of a kCheck; consumes nothing.
  kReset,    ///< Makes every key fresh.
  kGrant,    ///< Grants `cost` extra units to every key. Not for concurrency.
  kAdjust,   ///< Corrects the cost of every `receipt` to `cost`: refunds or charges the difference.
  kRelease,  ///< Releases every `slot`.
  kRenew,    ///< Restarts the time to live of every `slot`.
  kInspect,  ///< Fills in every `inspection`, and the verdict of a kPeek with cost 0.
  kFetch,    ///< Leases tokens of every key. Not supported by stores in memory.
  kReturn,   ///< Applies the reports in every `lending`.
};

/// A call to a store. Owned by the caller; must stay at its address until it is done.
struct StoreCall {
  Operation operation = Operation::kCheck;
  std::span<KeyUse> uses{};
  WallTime now{};  ///< Ignored by stores with their own clock (Redis).
  /// The caller's timeout, if shorter than the store's; 0: the store's applies.
  Micros timeout{0};

  /// Results.
  bool ok = false;  ///< False: `error` says why, and nothing was changed.
  ErrorCode error{};
  bool allowed = false;  ///< kCheck, kPeek: the call passes.
  /// kReset: number of keys that were not fresh. kRelease, kRenew: number of slots that were held.
  std::size_t affected = 0;

  /// Called after Completion::kLater, in a later turn of the caller's loop.
  void (*on_done)(StoreCall& call, void* context) = nullptr;
  void* context = nullptr;
  /// `on_done` is still to be called. Set by Submit and SubmitBatch.
  bool pending = false;
};

enum class Completion : std::uint8_t {
  kNow,
  kLater,  ///< `on_done` will be called; never before Submit returns.
};

/// One key in a listing of a store.
struct KeyState {
  std::string name;  ///< In the format of AppendKeyName; empty if the store keeps no names.
  std::uint64_t id;  ///< Identifies the key if there is no name.
  LimitNumbers limit;
  Verdict verdict;  ///< Of a kPeek with cost 0.
  Inspection inspection;
};

/// Holds the state of keys. All stores return the same results for the same calls.
class Store {
 public:
  virtual ~Store() = default;

  /// Submits one call with at most kMaxLimitsPerCall uses. Several uses may have the same key and
  /// equal limits; they are evaluated in order.
  virtual Completion Submit(StoreCall& call) = 0;

  /// Submits independent calls. Equivalent to calling Submit for each of them in order, but faster.
  /// Calls that are not done on return are `pending`.
  virtual void SubmitBatch(std::span<StoreCall* const> calls) = 0;
};

}  // namespace sluice::store

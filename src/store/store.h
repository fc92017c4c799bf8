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

/// The result of kInspect for a key.
struct Inspection {
  bool live = false;       ///< False: as if never used.
  std::int64_t level = 0;  ///< Like `remaining` without grants, but below zero in debt.
  std::int64_t grant = 0;
  WallTime touched{};  ///< When something was last taken or given, or where its window begins.
};

/// The request of a node that leases, and the store's reply: see docs/leases.md.
struct Lending {
  algo::lease::Request request;
  algo::lease::Grant grant;  ///< Result of kFetch.
};

/// The settlement of a receipt that a client holds: an adjustment with one
/// takes effect once per receipt and key, and the store remembers the total until it expires.
struct Settlement {
  static constexpr std::uint32_t kMaxPerKey = 100'000;

  std::uint64_t receipt = 0;  ///< The receipt's id, unique among those of the key.
  /// Until then the total is remembered; from then on the adjustment changes nothing.
  WallTime expires{};
  /// Totals that are remembered per key; past it the whole call fails with kTooManySettlements.
  std::uint32_t max_per_key = kMaxPerKey;
  /// Answers. The total that holds: the `cost` of the adjustment that took effect.
  std::int64_t total = 0;
  bool repeated = false;  ///< An earlier adjustment holds; this one changed nothing.
};

/// Which part of a bounded store a new key may occupy.
enum class KeyKind : std::uint8_t {
  kOrdinary,
  kFromCaller,  ///< Of a limit that a caller brought: a part of the room only.
  kOverflow,    ///< Shared by keys without room: has room that is kept for such keys.
};

/// One limit's part in a call: its input and, once the call is done, its result.
struct KeyUse {
  Key key;
  const Limit* limit = nullptr;
  std::int64_t cost = 1;  ///< ≥ 0; above kMaxAmount it counts as that.
  Mode mode = Mode::kEnforce;
  bool count_denied = false;  ///< Take what is left, up to the cost, even if the call is denied.
  bool dry_run = false;       ///< Evaluated by its cost, of which nothing is taken.
  KeyKind kind = KeyKind::kOrdinary;
  bool no_room = false;  ///< Result of a call that failed with kStoreFull: whether for this key.
  /// Whether an enforced check may be decided by leased tokens.
  bool may_lease = false;
  std::uint32_t series = 0;          ///< The number under which its leases are counted.
  std::uint64_t slot = 0;            ///< Concurrency; 0 lets the store choose an id.
  Receipt receipt;                   ///< Result of a check; input of an adjustment.
  Verdict verdict;                   ///< Result.
  Inspection* inspection = nullptr;  ///< kInspect: receives the result.
  Lending* lending = nullptr;        ///< kFetch and kReturn.
  Settlement* settlement = nullptr;  ///< kAdjust; null: takes effect each time.
};

enum class Operation : std::uint8_t {
  kCheck,   ///< All uses together: takes from all of them or from none.
  kPeek,    ///< The result of a kCheck, without taking.
  kReset,   ///< Every use's key: as if never used.
  kGrant,   ///< Every use's `cost` is added to what the key may spend first. Not concurrency.
  kAdjust,  ///< Makes of every use's `receipt` one of `cost`: gives back or charges the difference.
  kRelease,  ///< Frees every use's `slot`.
  kRenew,    ///< Every use's `slot` lives on from now.
  kInspect,  ///< Every use's key, as a kPeek of cost 0 sees it, and what lies behind.
  kFetch,    ///< Leases from every use's key. Stores of one process don't lease.
  kReturn,   ///< Takes the reports of every use's `lending`.
};

/// A call to a store. It belongs to the caller, and must stay where it is until it is done.
struct StoreCall {
  Operation operation = Operation::kCheck;
  std::span<KeyUse> uses{};
  WallTime now{};  ///< Stores with a clock of their own (Redis) don't use it.
  /// How long the caller waits at most, if that is less than the store would; 0: it does not say.
  Micros timeout{0};

  /// Results.
  bool ok = false;  ///< False: `error` says why, and nothing was changed.
  ErrorCode error{};
  bool allowed = false;  ///< kCheck, kPeek: whether the call passes.
  /// kReset: keys that had something to forget. kRelease, kRenew: slots that were held.
  std::size_t affected = 0;

  /// Run by a store that answered "later", in a later turn of the caller's loop.
  void (*on_done)(StoreCall& call, void* context) = nullptr;
  void* context = nullptr;
  /// Whether `on_done` is still to be run; set by Submit and SubmitBatch.
  bool pending = false;
};

enum class Completion : std::uint8_t {
  kNow,
  kLater,  ///< `on_done` will be run; never before Submit returns.
};

/// One key as a walk over a store finds it.
struct KeyState {
  std::string name;  ///< As AppendKeyName writes it; empty if the store keeps no names.
  std::uint64_t id;  ///< Stands for the key where there is no name.
  LimitNumbers limit;
  Verdict verdict;  ///< As a kPeek of cost 0 says.
  Inspection inspection;
};

/// Where the state of keys lives. Every store gives the same answers to the same calls.
class Store {
 public:
  virtual ~Store() = default;

  /// Answers one call. At most kMaxLimitsPerCall uses; several uses may name one key, under equal
  /// limits, and are evaluated in order.
  virtual Completion Submit(StoreCall& call) = 0;

  /// Answers independent calls, with the results of one after the other, but faster. Those
  /// that are not answered when it returns are `pending`.
  virtual void SubmitBatch(std::span<StoreCall* const> calls) = 0;
};

}  // namespace sluice::store

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

/// What kInspect tells of a key.
struct Inspection {
  bool live = false;       ///< False: as if never used.
  std::int64_t level = 0;  ///< Like `remaining` without grants, but below zero in debt.
  std::int64_t grant = 0;
  WallTime touched{};  ///< When something was last taken or given, or where its window begins.
};

/// What a node that leases says to the store, and is told: see docs/leases.md.
struct Lending {
  algo::lease::Request request;
  algo::lease::Grant grant;  ///< Answer of kFetch.
};

/// One limit's part in a call: the question, and, once the call is done, the answer.
struct Use {
  Key key;
  const Limit* limit = nullptr;
  std::int64_t cost = 1;  ///< ≥ 0; above kMaxAmount it counts as that.
  Mode mode = Mode::kEnforce;
  bool count_denied = false;  ///< Take what is left, up to the cost, even if the call is denied.
  /// An enforced check may be decided by tokens taken ahead; other operations are about a key for
  /// which that is so.
  bool may_lease = false;
  std::uint32_t series = 0;          ///< Under which number whoever counts leases counts this one.
  std::uint64_t slot = 0;            ///< Concurrency; 0 lets the store choose an id.
  Receipt receipt;                   ///< Answer of a check; question of an adjustment.
  Verdict verdict;                   ///< Answer.
  Inspection* inspection = nullptr;  ///< kInspect: where the answer goes.
  Lending* lending = nullptr;        ///< kFetch and kReturn.
};

enum class Operation : std::uint8_t {
  kCheck,   ///< All uses together: takes from all of them or from none.
  kPeek,    ///< What kCheck would say.
  kReset,   ///< Every use's key: as if never used.
  kGrant,   ///< Every use's `cost` is added to what the key may spend first. Not concurrency.
  kAdjust,  ///< Makes of every use's `receipt` one of `cost`: gives back or charges the difference.
  kRelease,  ///< Frees every use's `slot`.
  kRenew,    ///< Every use's `slot` lives on from now.
  kInspect,  ///< Every use's key, as a kPeek of cost 0 sees it, and what lies behind.
  kFetch,    ///< Leases from every use's key. Stores that nobody shares don't lease.
  kReturn,   ///< Hears the reports of every use's `lending`.
};

/// A question to a store. It belongs to the caller, and must stay where it is until it is done.
struct Call {
  Operation operation = Operation::kCheck;
  std::span<Use> uses{};
  WallTime now{};  ///< Stores with a clock of their own (Redis) don't use it.
  /// How long the caller waits at most, if that is less than the store would; 0: it does not say.
  Micros patience{0};

  /// Answers.
  bool ok = false;  ///< False: `error` says why, and nothing was changed.
  ErrorCode error{};
  bool allowed = false;  ///< kCheck, kPeek: whether the call passes.
  /// kReset: keys that had something to forget. kRelease, kRenew: slots that were held.
  std::size_t affected = 0;

  /// Run by a store that answered "later", in a later turn of the caller's loop.
  void (*on_done)(Call& call, void* context) = nullptr;
  void* context = nullptr;
  /// Whether `on_done` is still to be run; set by Submit and SubmitBatch.
  bool pending = false;
};

enum class Answered : std::uint8_t {
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
  /// limits, and are judged in order.
  virtual Answered Submit(Call& call) = 0;

  /// Answers independent calls, one after the other as far as anyone can tell, but faster. Those
  /// that are not answered when it returns are `pending`.
  virtual void SubmitBatch(std::span<Call* const> calls) = 0;
};

}  // namespace sluice::store

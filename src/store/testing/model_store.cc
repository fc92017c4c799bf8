#include "store/testing/model_store.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <sluice/limiter.h>

#include "algo/algorithm_info.h"
#include "algo/testing/model.h"

namespace sluice::store::testing {

namespace {

using algo::testing::Integer;

bool IsConcurrency(const KeyUse& use) { return use.limit->algorithm() == Algorithm::kConcurrency; }

std::int64_t Narrow(const Integer& value) { return value.convert_to<std::int64_t>(); }

Micros WaitUntil(const Integer& now, const Integer& moment) {
  if (moment > kMaxWait.count()) return kMaxWait;
  return Micros{Narrow(std::max<Integer>(moment - now, 0))};
}

Integer Clamp(WallTime now) { return algo::ClampTime(now).time_since_epoch().count(); }

}  // namespace

class ModelStore::Ledger {
 public:
  void Submit(StoreCall& call);
  [[nodiscard]] bool MayBeForgotten(const Key& key, WallTime now) const;

 private:
  using KeyName = std::tuple<std::string, std::string, std::string>;

  struct Record {
    algo::testing::KeyModel model;
    Integer grant = 0;
    Integer expiring = 0;  ///< A second grant, until `expires`.
    Integer expires = 0;
    /// The latest call to the store since the record was written. A sweep may have dropped what had
    /// expired then.
    Integer swept = 0;

    [[nodiscard]] Integer AllGrants() const { return grant + expiring; }
    void Expire(const Integer& now) {
      if (expires <= now) expiring = expires = 0;
    }
    void AddGrant(const Integer& amount, const Integer& until, const Integer& now) {
      const Integer added = std::min<Integer>(amount, kMaxAmount - AllGrants());
      if (until == 0) {
        grant += added;
      } else if (until > now && added > 0) {
        expires = expiring == 0 ? until : std::min(expires, until);
        expiring += added;
      }
    }
  };

  /// A key in the course of one call.
  struct View {
    Record record;
    bool must_write = false;
    /// Of a call that is let in, before anything of this call is in the bucket.
    Integer delay = 0;
    /// What earlier uses of the key in this call are about to take.
    Integer pending = 0;
  };

  struct Judgement {
    Outcome outcome = Outcome::kAllowed;
    Micros retry_after{0};
    Integer delay = 0;
  };

  static std::optional<ErrorCode> Validate(const StoreCall& call);
  static KeyName NameOf(const Key& key);
  static bool IsAsIfNeverUsed(const Record& record, const Integer& now);
  static bool MayHaveLostEntries(const Record& record, const Integer& now);

  /// The key as stored, or nullptr if it is as if never used.
  Record* FindLive(const KeyUse& use, const Integer& now);
  View Peek(const KeyUse& use, const Integer& now);
  std::map<KeyName, View> PeekAll(const StoreCall& call, const Integer& now);
  void WriteAll(const StoreCall& call, const std::map<KeyName, View>& views);

  void Decide(StoreCall& call, const Integer& now);
  static Judgement Judge(const KeyUse& use, const Integer& now, View& view);
  Receipt TakeAsDecided(const StoreCall& call, const KeyUse& use, View& view);
  Receipt Take(const KeyUse& use, const Integer& cost, View& view);
  static Verdict Status(const View& view, const Integer& now);

  void Reset(StoreCall& call, const Integer& now);
  void RunEach(StoreCall& call, const Integer& now);
  bool HasRoomForSettlements(const StoreCall& call, const Integer& now);
  bool TakesEffect(const KeyUse& use, const Integer& now);
  static void Grant(KeyUse& use, const Integer& now, View& view);
  static void Adjust(const KeyUse& use, const Integer& now, View& view);
  void Inspect(KeyUse& use, const Integer& now, const View& view);

  /// A receipt by its expiry and its id.
  using ReceiptName = std::pair<WallTime, std::uint64_t>;
  using Totals = std::map<ReceiptName, std::int64_t>;
  static ReceiptName NameOf(const Settlement& settlement) {
    return {algo::ClampTime(settlement.expires), settlement.receipt};
  }
  static bool IsExpired(const Settlement& settlement, const Integer& now) {
    return Clamp(settlement.expires) <= now;
  }

  std::map<KeyName, Record> keys_;
  std::map<KeyName, Totals> settled_;
  Integer latest_ = 0;
  std::uint64_t last_slot_ = std::uint64_t{1} << 40;  ///< Far from ids that a test may choose.
};

ModelStore::ModelStore() : ledger_(std::make_unique<Ledger>()) {}
ModelStore::~ModelStore() = default;

Completion ModelStore::Submit(StoreCall& call) {
  ledger_->Submit(call);
  return Completion::kNow;
}

void ModelStore::SubmitBatch(std::span<StoreCall* const> calls) {
  for (StoreCall* call : calls) Submit(*call);
}

bool ModelStore::MayBeForgotten(const Key& key, WallTime now) const {
  return ledger_->MayBeForgotten(key, now);
}

void ModelStore::Ledger::Submit(StoreCall& call) {
  call.allowed = false;
  call.affected = 0;
  const std::optional<ErrorCode> error = Validate(call);
  call.ok = !error.has_value();
  if (error) {
    call.error = *error;
    return;
  }
  for (KeyUse& use : call.uses) {
    for (std::int64_t* amount : {&use.cost, &use.receipt.amount, &use.receipt.from_grant}) {
      *amount = std::min(*amount, kMaxAmount);
    }
  }
  const Integer now = Clamp(call.now);
  latest_ = std::max(latest_, now);
  for (auto& [name, record] : keys_) record.swept = std::max(record.swept, now);
  switch (call.operation) {
    case Operation::kCheck:
    case Operation::kPeek:
      Decide(call, now);
      break;
    case Operation::kReset:
      Reset(call, now);
      break;
    case Operation::kGrant:
    case Operation::kAdjust:
    case Operation::kRelease:
    case Operation::kRenew:
    case Operation::kInspect:
      RunEach(call, now);
      break;
    case Operation::kFetch:
    case Operation::kReturn:
      break;  // Refused.
  }
}

std::optional<ErrorCode> ModelStore::Ledger::Validate(const StoreCall& call) {
  const Operation op = call.operation;
  if (op == Operation::kFetch || op == Operation::kReturn) return ErrorCode::kNotSupported;
  const std::int64_t least_cost = op == Operation::kGrant ? 1 : 0;
  const bool is_about_amounts = op == Operation::kGrant || op == Operation::kAdjust;
  const bool is_about_slots = op == Operation::kRelease || op == Operation::kRenew;
  if (call.uses.size() > kMaxLimitsPerCall) return ErrorCode::kTooManyLimits;
  for (const KeyUse& use : call.uses) {
    if (use.key.tag.size() + use.key.rest.size() > kMaxKeyBytes) return ErrorCode::kInvalidKey;
    if (use.cost < least_cost) return ErrorCode::kInvalidCost;
    if (is_about_amounts && IsConcurrency(use)) return ErrorCode::kNotSupported;
    if (is_about_slots && !IsConcurrency(use)) return ErrorCode::kNotSupported;
  }
  for (const KeyUse& use : call.uses) {
    for (const KeyUse& other : call.uses) {
      if (use.key == other.key && *use.limit != *other.limit) return ErrorCode::kInvalidLimit;
    }
  }
  return std::nullopt;
}

ModelStore::Ledger::KeyName ModelStore::Ledger::NameOf(const Key& key) {
  return {std::string(key.scope), std::string(key.tag), std::string(key.rest)};
}

bool ModelStore::Ledger::IsAsIfNeverUsed(const Record& record, const Integer& now) {
  Record then = record;
  then.Expire(now);
  return then.AllGrants() == 0 && then.model.WhenFresh() <= now;
}

bool ModelStore::Ledger::MayBeForgotten(const Key& key, WallTime now) const {
  const auto found = keys_.find(NameOf(key));
  if (found == keys_.end()) return false;
  const Record& record = found->second;
  return MayHaveLostEntries(record, Clamp(now)) ||
         (IsAsIfNeverUsed(record, latest_) && !IsAsIfNeverUsed(record, Clamp(now)));
}

// Entries of a history that had expired before the clock was set back to `now`.
bool ModelStore::Ledger::MayHaveLostEntries(const Record& record, const Integer& now) {
  const LimitNumbers& limit = record.model.limit();
  if (now >= record.swept || !algo::InfoOf(limit.algorithm).keeps_history) return false;
  algo::testing::KeyModel kept = record.model;
  algo::testing::KeyModel swept = record.model;
  swept.Advance(limit, record.swept);
  swept.Advance(limit, now);
  kept.Advance(limit, now);
  return swept.Left() != kept.Left();
}

ModelStore::Ledger::Record* ModelStore::Ledger::FindLive(const KeyUse& use, const Integer& now) {
  const auto found = keys_.find(NameOf(use.key));
  if (found == keys_.end() || IsAsIfNeverUsed(found->second, now)) return nullptr;
  return &found->second;
}

ModelStore::Ledger::View ModelStore::Ledger::Peek(const KeyUse& use, const Integer& now) {
  const LimitNumbers& limit = use.limit->numbers();
  const Record* stored = FindLive(use, now);
  View view{.record = stored ? *stored : Record{algo::testing::KeyModel(limit, now)}};
  view.record.Expire(now);
  view.must_write = view.record.model.Advance(limit, now) == algo::ClockSeen::kSetBack;
  view.delay = view.record.model.Delay();
  if (IsConcurrency(use))
    view.record.grant = view.record.expiring = 0;  // Left over from another algorithm.
  return view;
}

std::map<ModelStore::Ledger::KeyName, ModelStore::Ledger::View> ModelStore::Ledger::PeekAll(
    const StoreCall& call, const Integer& now) {
  std::map<KeyName, View> views;
  for (const KeyUse& use : call.uses) {
    if (!views.contains(NameOf(use.key))) views.emplace(NameOf(use.key), Peek(use, now));
  }
  return views;
}

void ModelStore::Ledger::WriteAll(const StoreCall& call, const std::map<KeyName, View>& views) {
  for (const KeyUse& use : call.uses) {
    const View& view = views.at(NameOf(use.key));
    if (!view.must_write) continue;
    keys_.insert_or_assign(NameOf(use.key), view.record).first->second.swept = Clamp(call.now);
  }
}

void ModelStore::Ledger::Decide(StoreCall& call, const Integer& now) {
  std::map<KeyName, View> views = PeekAll(call, now);
  call.allowed = true;
  for (KeyUse& use : call.uses) {
    const Judgement judgement = Judge(use, now, views.at(NameOf(use.key)));
    use.verdict = {.outcome = judgement.outcome, .retry_after = judgement.retry_after};
    use.verdict.delay = Micros{Narrow(judgement.delay)};
    if (use.mode == Mode::kEnforce && judgement.outcome != Outcome::kAllowed) call.allowed = false;
  }
  const auto is_quota = [](const KeyUse& use) { return use.mode == Mode::kQuota; };
  const auto is_over = [](const KeyUse& use) { return use.verdict.outcome != Outcome::kAllowed; };
  const auto quotas = std::count_if(call.uses.begin(), call.uses.end(), is_quota);
  const auto over = std::count_if(call.uses.begin(), call.uses.end(),
                                  [&](const KeyUse& use) { return is_quota(use) && is_over(use); });
  if (quotas > 0 && over == quotas) call.allowed = false;
  for (KeyUse& use : call.uses) {
    View& view = views.at(NameOf(use.key));
    use.receipt = call.operation == Operation::kCheck ? TakeAsDecided(call, use, view) : Receipt{};
    if (!call.allowed) use.verdict.delay = Micros{0};
    const Verdict status = Status(view, now);
    use.verdict.limit = status.limit;
    use.verdict.remaining = status.remaining;
    use.verdict.reset_after = status.reset_after;
  }
  if (call.operation != Operation::kPeek) WriteAll(call, views);
}

ModelStore::Ledger::Judgement ModelStore::Ledger::Judge(const KeyUse& use, const Integer& now,
                                                        View& view) {
  if (use.cost == 0 || view.record.model.Holds(use.slot)) return {};

  const Integer needed = view.pending + use.cost - view.record.AllGrants();
  const bool fits = needed <= 0 || needed <= view.record.model.Left();
  if (fits || use.mode == Mode::kForce) {
    if (use.mode != Mode::kShadow && !use.only_looks) view.pending += use.cost;
    return {.outcome = Outcome::kAllowed, .delay = needed > 0 ? view.delay : Integer(0)};
  }
  if (needed > use.limit->cap()) return {.outcome = Outcome::kNeverFits, .retry_after = kMaxWait};
  return {.outcome = Outcome::kDenied,
          .retry_after = WaitUntil(now, view.record.model.WhenLeft(needed))};
}

Receipt ModelStore::Ledger::TakeAsDecided(const StoreCall& call, const KeyUse& use, View& view) {
  if (use.only_looks) return {};
  if (call.allowed) {
    return use.verdict.outcome == Outcome::kAllowed ? Take(use, use.cost, view) : Receipt{};
  }
  if (!use.count_denied || use.mode == Mode::kShadow || IsConcurrency(use)) return {};
  const Integer there = std::max<Integer>(view.record.model.Left(), 0) + view.record.AllGrants();
  return Take(use, std::min<Integer>(use.cost, there), view);
}

Receipt ModelStore::Ledger::Take(const KeyUse& use, const Integer& cost, View& view) {
  if (cost == 0) return {};
  view.must_write = true;
  const Integer from_grant = std::min(view.record.AllGrants(), cost);
  const Integer from_expiring = std::min(view.record.expiring, cost);
  const Integer from_limit = cost - from_grant;
  Receipt receipt{.amount = Narrow(from_limit), .from_grant = Narrow(from_grant)};
  if (IsConcurrency(use)) {
    receipt.slot = use.slot != 0 ? use.slot : ++last_slot_;
    if (view.record.model.Holds(receipt.slot)) receipt.amount = 0;
  }
  if (from_limit > 0) view.record.model.Take(from_limit, receipt.slot);
  if (from_expiring > 0) receipt.grant_expires = WallTime{Micros{Narrow(view.record.expires)}};
  view.record.grant -= from_grant - from_expiring;
  view.record.expiring -= from_expiring;
  receipt.at = WallTime{Micros{Narrow(view.record.model.ReceiptTime())}};
  return receipt;
}

Verdict ModelStore::Ledger::Status(const View& view, const Integer& now) {
  const algo::testing::KeyModel& model = view.record.model;
  const Integer left = std::max<Integer>(model.Left(), 0);
  return {.limit = model.limit().cap,
          .remaining = Narrow(left + view.record.AllGrants()),
          .reset_after = WaitUntil(now, model.WhenFresh())};
}

void ModelStore::Ledger::Reset(StoreCall& call, const Integer& now) {
  for (const KeyUse& use : call.uses) {
    if (FindLive(use, now) != nullptr) ++call.affected;
    keys_.erase(NameOf(use.key));
  }
}

bool ModelStore::Ledger::HasRoomForSettlements(const StoreCall& call, const Integer& now) {
  std::map<KeyName, std::size_t> added;
  for (const KeyUse& use : call.uses) {
    const Settlement* settlement = use.settlement;
    if (settlement == nullptr || IsExpired(*settlement, now)) continue;
    const Totals& totals = settled_[NameOf(use.key)];
    if (totals.contains(NameOf(*settlement))) continue;
    const auto live = std::count_if(totals.begin(), totals.end(), [&](const auto& entry) {
      return Clamp(entry.first.first) > now;
    });
    if (static_cast<std::size_t>(live) + ++added[NameOf(use.key)] > settlement->max_per_key) {
      return false;
    }
  }
  return true;
}

bool ModelStore::Ledger::TakesEffect(const KeyUse& use, const Integer& now) {
  if (use.settlement == nullptr) return true;
  Settlement& settlement = *use.settlement;
  settlement.repeated = false;
  settlement.total = use.cost;
  if (IsExpired(settlement, now)) return false;
  const auto [found, is_new] =
      settled_[NameOf(use.key)].emplace(NameOf(settlement), settlement.total);
  settlement.total = found->second;
  settlement.repeated = !is_new;
  return is_new;
}

void ModelStore::Ledger::RunEach(StoreCall& call, const Integer& now) {
  if (call.operation == Operation::kAdjust && !HasRoomForSettlements(call, now)) {
    call.ok = false;
    call.error = ErrorCode::kTooManySettlements;
    return;
  }
  std::map<KeyName, View> views = PeekAll(call, now);
  for (KeyUse& use : call.uses) {
    View& view = views.at(NameOf(use.key));
    if (call.operation == Operation::kGrant) Grant(use, now, view);
    if (call.operation == Operation::kAdjust && TakesEffect(use, now)) Adjust(use, now, view);
    if (call.operation == Operation::kRelease && view.record.model.Release(use.slot)) {
      view.must_write = true;
      ++call.affected;
    }
    if (call.operation == Operation::kRenew && view.record.model.Renew(use.slot)) {
      view.must_write = true;
      ++call.affected;
    }
    if (call.operation == Operation::kInspect) Inspect(use, now, view);
    use.verdict = Status(view, now);
  }
  if (call.operation != Operation::kInspect) WriteAll(call, views);
}

void ModelStore::Ledger::Grant(KeyUse& use, const Integer& now, View& view) {
  const Integer until = Clamp(use.receipt.grant_expires);
  view.record.AddGrant(use.cost, until, now);
  if (until == 0 || until > now) view.must_write = true;
  use.receipt.grant_expires =
      WallTime{Micros{Narrow(view.record.expiring > 0 ? view.record.expires : Integer(0))}};
}

void ModelStore::Ledger::Adjust(const KeyUse& use, const Integer& now, View& view) {
  const Integer taken = Integer(use.receipt.amount) + use.receipt.from_grant;
  const Integer at = use.receipt.at.time_since_epoch().count();
  view.must_write = true;
  if (use.cost >= taken) {
    view.record.model.Adjust(at, use.cost - taken);
    return;
  }
  const Integer back = taken - use.cost;
  const Integer to_limit = std::min<Integer>(back, use.receipt.amount);
  view.record.model.Adjust(at, -to_limit);
  view.record.AddGrant(back - to_limit, Clamp(use.receipt.grant_expires), now);
}

void ModelStore::Ledger::Inspect(KeyUse& use, const Integer& now, const View& view) {
  if (use.inspection == nullptr) return;
  use.inspection->live = view.record.AllGrants() > 0 || view.record.model.WhenFresh() > now;
  use.inspection->level = Narrow(view.record.model.Left());
  use.inspection->grant = Narrow(view.record.AllGrants());
  use.inspection->expiring_grant = Narrow(view.record.expiring);
  use.inspection->grant_expires =
      WallTime{Micros{Narrow(view.record.expiring > 0 ? view.record.expires : Integer(0))}};
  const Record* const stored = FindLive(use, now);
  use.inspection->fresh_after =
      stored != nullptr ? WaitUntil(now, stored->model.WhenFresh()) : Micros{0};
}

}  // namespace sluice::store::testing

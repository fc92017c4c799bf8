#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/limiter.h>

#include "algo/bucket.h"
#include "algo/shape.h"
#include "base/clock.h"
#include "base/key.h"
#include "lib/limiter_parts.h"
#include "limiter/decision.h"
#include "store/decide.h"
#include "store/memory/memory_store.h"
#include "store/store.h"

namespace sluice {
namespace {

using store::BucketCheck;
using store::KeyUse;
using store::Operation;
using store::StoreCall;

// Calls with up to this many limits, and batches in portions of this size, don't allocate.
constexpr std::size_t kOnStack = 16;
// For `local` rules, which continue in memory while Redis does not answer.
constexpr std::size_t kKeysWithoutRedis = 1'000'000;

// Sets the input of `use`; its results are overwritten by the store.
void Fill(const LimitUse& asked, KeyUse& use) {
  use.key = {.scope = asked.limit->name, .tag = asked.key};
  use.limit = &asked.limit->limit;
  use.cost = asked.cost;
  use.mode = asked.mode;
  use.count_denied = asked.count_denied;
  use.slot = asked.slot;
}

KeyUse ToUse(const LimitUse& asked) {
  KeyUse use;
  Fill(asked, use);
  return use;
}

KeyUse ToUse(const NamedLimit& limit, std::string_view key, std::int64_t cost) {
  return ToUse({.limit = &limit, .key = key, .cost = cost});
}

std::string Explain(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidLimit:
      return "limits with one name and different numbers can't apply to one key in one call";
    case ErrorCode::kInvalidCost:
      return "a cost must be at least 0, an amount to grant at least 1";
    case ErrorCode::kInvalidKey:
      return "a key, and the name of a limit, must have at most " + std::to_string(kMaxKeyBytes) +
             " bytes";
    case ErrorCode::kTooManyLimits:
      return "a call may have at most " + std::to_string(kMaxLimitsPerCall) + " limits";
    case ErrorCode::kNotSupported:
      return "this limit's algorithm has no such operation";
    case ErrorCode::kStoreFull:
      return "all keys in memory are active, and there is no room for a new one";
    case ErrorCode::kStoreUnavailable:
      return "the store could not be reached; nothing was counted";
    case ErrorCode::kStoreTimeout:
      return "the store did not answer in time; the call may have been counted";
    case ErrorCode::kStoreError:
      return "the store refused the call; nothing was counted";
    case ErrorCode::kTooManySettlements:
      return "the key remembers as many settled receipts as it may; nothing was changed";
    case ErrorCode::kForeignValue:
      return "the key's value was not written by Sluice, or by a newer version";
    default:
      return ErrorName(code);
  }
}

// Whether the limit denies a call that the store could not decide: only if it could deny it at all.
bool FailsClosed(const LimitUse& asked) {
  return asked.mode == Mode::kEnforce && asked.limit->on_failure == FailureMode::kClosed;
}

// A use's verdict and receipt; if the call was not counted, nothing was taken.
LimitStatus StatusOf(const StoreCall& call, const KeyUse& use) {
  return call.ok ? LimitStatus{use.verdict, use.receipt} : LimitStatus{};
}

// The decision of an answered check. `fails_closed(i)`: of the call's i-th use.
template <typename UseFailsClosed>
Result<Decision> DecisionOf(const StoreCall& call, UseFailsClosed fails_closed) {
  if (call.ok) return limiter::DecisionOf(call);
  if (store::IsCallError(call.error)) return ToError(call.error);
  return limiter::DecideWithoutStore(call.uses, fails_closed);
}

}  // namespace

Error ToError(ErrorCode code) { return {code, Explain(code)}; }

void Limiter::Impl::Run(StoreCall& call) const {
  if (redis) {
    redis->Submit(call);
  } else {
    call.now = Now();
    memory->Submit(call);
  }
}

void Limiter::Impl::RunBatch(std::span<StoreCall* const> calls) const {
  if (redis) return redis->SubmitBatch(calls);
  const WallTime now = Now();
  for (StoreCall* call : calls) call->now = now;
  memory->SubmitBatch(calls);
}

Result<Verdict> Limiter::Impl::RunOne(Operation operation, KeyUse& use) const {
  StoreCall call{.operation = operation, .uses = {&use, 1}};
  Run(call);
  if (!call.ok) return ToError(call.error);
  return use.verdict;
}

bool Limiter::Impl::Affects(Operation operation, KeyUse& use) const {
  StoreCall call{.operation = operation, .uses = {&use, 1}};
  Run(call);
  return call.ok && call.affected > 0;
}

Limiter::Limiter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Limiter::Limiter(Limiter&&) noexcept = default;
Limiter& Limiter::operator=(Limiter&&) noexcept = default;
Limiter::~Limiter() = default;

Result<Limiter> Limiter::InMemory(const LimiterOptions& options) {
  auto memory = store::MemoryStore::Create({.max_keys = options.max_keys,
                                            .max_bytes = options.max_bytes,
                                            .keep_names = options.keep_names});
  if (!memory) return memory.error();
  return Limiter(std::make_unique<Impl>(options.clock, std::move(*memory)));
}

Result<Limiter> Limiter::OnRedis(const RedisLimiterOptions& options) {
  auto redis = RedisThread::Make(options);
  if (!redis) return redis.error();
  auto memory = store::MemoryStore::Create({.max_keys = kKeysWithoutRedis});
  if (!memory) return memory.error();
  return Limiter(std::make_unique<Impl>(nullptr, std::move(*memory), std::move(*redis)));
}

Result<Decision> Limiter::Check(const NamedLimit& limit, std::string_view key, std::int64_t cost,
                                LimitStatus* status) {
  if (impl_->IsPlain(limit, key)) {
    BucketCheck check{.limit = &limit.limit, .cost = cost, .now = impl_->Now()};
    impl_->memory->CheckBucket(nullptr, {.scope = limit.name, .tag = key}, check);
    if (check.done) {
      const Verdict verdict = check.verdict();
      if (status != nullptr) *status = {verdict, check.receipt()};
      return Decision{.allowed = check.allowed, .tightest = verdict};
    }
  }
  return impl_->CheckOne(limit, key, cost, status);
}

Result<Decision> Limiter::Impl::CheckOne(const NamedLimit& limit, std::string_view key,
                                         std::int64_t cost, LimitStatus* status) const {
  KeyUse use = ToUse(limit, key, cost);
  StoreCall call{.uses = {&use, 1}};
  Run(call);
  if (status != nullptr) *status = StatusOf(call, use);
  return DecisionOf(call, [&](std::size_t) { return limit.on_failure == FailureMode::kClosed; });
}

CheckResult Limiter::Impl::CheckUnprepared(const PreparedLimit& limit, std::string_view key,
                                           std::int64_t cost) const {
  LimitStatus status;
  const Result<Decision> decision = CheckOne(limit.limit_, key, cost, &status);
  if (!decision) return CheckResult(decision.error().code);
  return {*decision, status};
}

inline CheckResult Limiter::Impl::ResultOf(const BucketCheck& check) noexcept {
  return {check.allowed,
          check.limit->shape(),
          {.now = check.now.time_since_epoch().count(),
           .at = check.at.time_since_epoch().count(),
           .value = check.value,
           .cost = check.cost}};
}

PreparedLimit Limiter::Prepare(NamedLimit limit) const {
  PreparedLimit prepared(std::move(limit));
  if (!impl_->IsPlain(prepared.limit_, {})) return prepared;
  prepared.store_ = impl_->memory.get();
  prepared.name_hash_ = impl_->memory->HashScope(prepared.limit_.name);
  return prepared;
}

CheckResult Limiter::Check(const PreparedLimit& limit, std::string_view key, std::int64_t cost) {
  if (limit.store_ == impl_->memory.get() && key.size() <= kMaxKeyBytes) {
    BucketCheck check{.limit = &limit.limit_.limit, .cost = cost, .now = impl_->Now()};
    impl_->memory->CheckBucket(&limit.name_hash_, {.scope = limit.limit_.name, .tag = key}, check);
    if (check.done) return Impl::ResultOf(check);
  }
  return impl_->CheckUnprepared(limit, key, cost);
}

Result<std::size_t> Limiter::CheckBatch(const PreparedLimit& limit,
                                        std::span<const std::string_view> keys,
                                        std::span<CheckResult> results, std::int64_t cost) {
  if (results.size() < keys.size()) {
    return Error{ErrorCode::kInvalidOptions, "there must be a result for each key"};
  }
  constexpr std::size_t kPortion = store::MemoryStore::kBucketChecks;
  const bool prepared = limit.store_ == impl_->memory.get();
  const bool fit = std::all_of(keys.begin(), keys.end(),
                               [](std::string_view key) { return key.size() <= kMaxKeyBytes; });
  std::size_t allowed = 0;
  std::array<BucketCheck, kPortion> checks;
  std::array<Key, kPortion> full_keys;
  for (std::size_t done = 0; done < keys.size(); done += kPortion) {
    const auto portion = keys.subspan(done, std::min(kPortion, keys.size() - done));
    if (prepared && fit) {
      const WallTime now = impl_->Now();
      for (std::size_t i = 0; i < portion.size(); ++i) {
        full_keys[i] = {.scope = limit.limit_.name, .tag = portion[i]};
        checks[i].limit = &limit.limit_.limit;
        checks[i].cost = cost;
        checks[i].now = now;
      }
      impl_->memory->CheckBuckets(&limit.name_hash_, std::span(full_keys).first(portion.size()),
                                  checks);
    }
    for (std::size_t i = 0; i < portion.size(); ++i) {
      results[done + i] = checks[i].done ? Impl::ResultOf(checks[i])
                                         : impl_->CheckUnprepared(limit, portion[i], cost);
      allowed += results[done + i].allowed() ? 1 : 0;
    }
  }
  return allowed;
}

Verdict CheckResult::verdict() const noexcept {
  if (form_ != Form::kBucket) return form_ == Form::kStatus ? status_.verdict : Verdict{};
  const algo::State state{.at = WallTime{Micros{bucket_.at}}, .value = bucket_.value};
  return algo::bucket::VerdictOf(algo::NumbersOf(shape_), WallTime{Micros{bucket_.now}}, state,
                                 bucket_.cost, allowed_);
}

Receipt CheckResult::receipt() const noexcept {
  if (form_ != Form::kBucket) return form_ == Form::kStatus ? status_.receipt : Receipt{};
  return allowed_ ? Receipt{.amount = bucket_.cost, .at = WallTime{Micros{bucket_.at}}} : Receipt{};
}

Result<Decision> Limiter::Peek(const NamedLimit& limit, std::string_view key,
                               std::int64_t cost) const {
  KeyUse use = ToUse(limit, key, cost);
  StoreCall call{.operation = Operation::kPeek, .uses = {&use, 1}};
  impl_->Run(call);
  return DecisionOf(call, [&](std::size_t) { return limit.on_failure == FailureMode::kClosed; });
}

Result<Decision> Limiter::CheckAll(std::span<const LimitUse> uses,
                                   std::span<LimitStatus> statuses) {
  if (uses.size() > kMaxLimitsPerCall) return ToError(ErrorCode::kTooManyLimits);
  std::array<KeyUse, kOnStack> few;
  std::vector<KeyUse> many(uses.size() > kOnStack ? uses.size() : 0);
  const std::span<KeyUse> asked =
      many.empty() ? std::span(few).first(uses.size()) : std::span(many);
  for (std::size_t i = 0; i < uses.size(); ++i) Fill(uses[i], asked[i]);
  StoreCall call{.uses = asked};
  impl_->Run(call);
  for (std::size_t i = 0; i < std::min(statuses.size(), uses.size()); ++i) {
    statuses[i] = StatusOf(call, asked[i]);
  }
  return DecisionOf(call, [&](std::size_t i) { return FailsClosed(uses[i]); });
}

Result<std::size_t> Limiter::CheckBatch(std::span<const LimitUse> uses,
                                        std::span<Decision> decisions,
                                        std::span<LimitStatus> statuses) {
  if (decisions.size() < uses.size() || (!statuses.empty() && statuses.size() < uses.size())) {
    return Error{ErrorCode::kInvalidOptions, "there must be a decision for each use"};
  }
  for (const LimitUse& use : uses) {
    if (use.cost < 0) return ToError(ErrorCode::kInvalidCost);
    const bool fits = use.key.size() <= kMaxKeyBytes && use.limit->name.size() <= kMaxKeyBytes;
    if (!fits) return ToError(ErrorCode::kInvalidKey);
  }
  // Thread-local: zeroing the buffers would take as long as some of the checks.
  thread_local std::array<KeyUse, kOnStack> asked;
  thread_local std::array<StoreCall, kOnStack> calls;
  std::array<StoreCall*, kOnStack> pointers;
  for (std::size_t i = 0; i < kOnStack; ++i) {
    calls[i].uses = {&asked[i], 1};
    pointers[i] = &calls[i];
  }
  std::size_t allowed = 0;
  for (std::size_t done = 0; done < uses.size(); done += kOnStack) {
    const auto portion = uses.subspan(done, std::min(kOnStack, uses.size() - done));
    if (const auto passed =
            impl_->CheckBuckets(portion, decisions.subspan(done),
                                statuses.empty() ? statuses : statuses.subspan(done))) {
      allowed += *passed;
      continue;
    }
    for (std::size_t i = 0; i < portion.size(); ++i) Fill(portion[i], asked[i]);
    impl_->RunBatch({pointers.data(), portion.size()});
    for (std::size_t i = 0; i < portion.size(); ++i) {
      Decision& decision = decisions[done + i];
      // The uses are valid, so an error is the store's.
      decision = calls[i].ok ? limiter::DecisionOf(calls[i])
                             : limiter::DecideWithoutStore(calls[i].uses, [&](std::size_t) {
                                 return FailsClosed(portion[i]);
                               });
      allowed += decision.allowed ? 1 : 0;
      if (!statuses.empty()) statuses[done + i] = StatusOf(calls[i], asked[i]);
    }
  }
  return allowed;
}

std::optional<std::size_t> Limiter::Impl::CheckBuckets(std::span<const LimitUse> uses,
                                                       std::span<Decision> decisions,
                                                       std::span<LimitStatus> statuses) const {
  constexpr std::size_t kMost = store::MemoryStore::kBucketChecks;
  const bool plain = std::all_of(uses.begin(), uses.end(), [&](const LimitUse& use) {
    return use.mode == Mode::kEnforce && !use.count_denied && IsPlain(*use.limit, use.key);
  });
  if (!plain || uses.size() > kMost) return std::nullopt;
  std::array<Key, kMost> keys;
  std::array<BucketCheck, kMost> checks;
  const WallTime now = Now();
  for (std::size_t i = 0; i < uses.size(); ++i) {
    keys[i] = {.scope = uses[i].limit->name, .tag = uses[i].key};
    checks[i].limit = &uses[i].limit->limit;
    checks[i].cost = uses[i].cost;
    checks[i].now = now;
  }
  memory->CheckBuckets(nullptr, std::span(keys).first(uses.size()), checks);
  std::size_t allowed = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    LimitStatus status;
    if (checks[i].done) {
      status = {checks[i].verdict(), checks[i].receipt()};
      decisions[i] = {.allowed = checks[i].allowed, .tightest = status.verdict};
    } else {
      // The use is valid, so there is a decision.
      decisions[i] = *CheckOne(*uses[i].limit, uses[i].key, uses[i].cost, &status);
    }
    allowed += decisions[i].allowed ? 1 : 0;
    if (!statuses.empty()) statuses[i] = status;
  }
  return allowed;
}

bool Limiter::Reset(const NamedLimit& limit, std::string_view key) {
  KeyUse use = ToUse(limit, key, 0);
  return impl_->Affects(Operation::kReset, use);
}

Result<Verdict> Limiter::Grant(const NamedLimit& limit, std::string_view key, std::int64_t amount) {
  KeyUse use = ToUse(limit, key, amount);
  return impl_->RunOne(Operation::kGrant, use);
}

Result<Verdict> Limiter::Charge(const NamedLimit& limit, std::string_view key,
                                std::int64_t amount) {
  KeyUse use = ToUse({.limit = &limit, .key = key, .cost = amount, .mode = Mode::kForce});
  return impl_->RunOne(Operation::kCheck, use);
}

Result<Verdict> Limiter::Refund(const NamedLimit& limit, std::string_view key,
                                const Receipt& receipt) {
  return Settle(limit, key, receipt, 0);
}

Result<Verdict> Limiter::Settle(const NamedLimit& limit, std::string_view key,
                                const Receipt& receipt, std::int64_t actual_cost) {
  KeyUse use = ToUse(limit, key, actual_cost);
  use.receipt = receipt;
  return impl_->RunOne(Operation::kAdjust, use);
}

bool Limiter::Release(const NamedLimit& limit, std::string_view key, std::uint64_t slot) {
  KeyUse use = ToUse({.limit = &limit, .key = key, .slot = slot});
  return impl_->Affects(Operation::kRelease, use);
}

bool Limiter::Renew(const NamedLimit& limit, std::string_view key, std::uint64_t slot) {
  KeyUse use = ToUse({.limit = &limit, .key = key, .slot = slot});
  return impl_->Affects(Operation::kRenew, use);
}

std::optional<KeyInfo> Limiter::Inspect(const NamedLimit& limit, std::string_view key) const {
  store::Inspection inspection;
  KeyUse use = ToUse(limit, key, 0);
  use.inspection = &inspection;
  StoreCall call{.operation = Operation::kInspect, .uses = {&use, 1}};
  impl_->Run(call);
  if (!call.ok || !inspection.live) return std::nullopt;
  KeyInfo info{.name = {},
               .id = 0,
               .limit = limit.limit.numbers(),
               .verdict = use.verdict,
               .level = inspection.level,
               .grant = inspection.grant,
               .touched = inspection.touched};
  AppendKeyName(use.key, info.name);
  return info;
}

bool Limiter::ForEachKey(const std::function<bool(const KeyInfo&)>& visit) const {
  if (impl_->redis) return false;
  impl_->memory->Walk(impl_->Now(), [&](const store::KeyState& key) {
    return visit({.name = key.name,
                  .id = key.id,
                  .limit = key.limit,
                  .verdict = key.verdict,
                  .level = key.inspection.level,
                  .grant = key.inspection.grant,
                  .touched = key.inspection.touched});
  });
  return true;
}

LimiterStats Limiter::Stats() const {
  if (impl_->redis) return {};
  const store::MemoryStoreStats stats = impl_->memory->StatsApprox();
  return {
      .keys = stats.keys, .bytes = stats.bytes, .expired = stats.expired, .refused = stats.refused};
}

}  // namespace sluice

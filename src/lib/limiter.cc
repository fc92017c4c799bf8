#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <sluice/limiter.h>

#include "base/key.h"
#include "lib/limiter_parts.h"
#include "limiter/headline.h"
#include "store/memory/memory_store.h"
#include "store/store.h"

namespace sluice {
namespace {

using store::Call;
using store::Operation;
using store::Use;

// Calls of so many limits, and batches in portions of so many checks, need no allocation.
constexpr std::size_t kOnStack = 16;
// For rules that go on in memory while Redis does not answer.
constexpr std::size_t kKeysWithoutRedis = 1'000'000;

// Asks `use`, whose answers a store overwrites anyway, what `asked` says.
void Ask(const LimitUse& asked, Use& use) {
  use.key = {.scope = asked.limit->name, .tag = asked.key};
  use.limit = &asked.limit->limit;
  use.cost = asked.cost;
  use.mode = asked.mode;
  use.count_denied = asked.count_denied;
  use.slot = asked.slot;
}

Use ToUse(const LimitUse& asked) {
  Use use;
  Ask(asked, use);
  return use;
}

Use ToUse(const NamedLimit& limit, std::string_view key, std::int64_t cost) {
  return ToUse({.limit = &limit, .key = key, .cost = cost});
}

std::string Explain(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidLimit:
      return "limits with one name and different numbers can't meet one key in one call";
    case ErrorCode::kInvalidCost:
      return "a cost must be at least 0, an amount to grant at least 1";
    case ErrorCode::kInvalidKey:
      return "a key, and the name of a limit, must have at most " + std::to_string(kMaxKeyBytes) +
             " bytes";
    case ErrorCode::kTooManyLimits:
      return "a call may meet at most " + std::to_string(kMaxLimitsPerCall) + " limits";
    case ErrorCode::kNotSupported:
      return "this limit's algorithm has no such operation";
    case ErrorCode::kStoreFull:
      return "every key held matters, and there is no room for a new one";
    case ErrorCode::kStoreUnavailable:
      return "the store could not be asked; nothing was counted";
    case ErrorCode::kStoreTimeout:
      return "the store did not answer in time; the call may have been counted";
    case ErrorCode::kStoreError:
      return "the store refused the call; nothing was counted";
    case ErrorCode::kForeignValue:
      return "under this key lies a value that is not ours, or of a newer version";
    default:
      return ErrorName(code);
  }
}

// Errors that say something about the store, not about the call: a failure mode answers them.
bool IsOfStore(ErrorCode code) {
  switch (code) {
    case ErrorCode::kStoreFull:
    case ErrorCode::kStoreUnavailable:
    case ErrorCode::kStoreTimeout:
    case ErrorCode::kStoreError:
    case ErrorCode::kForeignValue:
      return true;
    default:
      return false;
  }
}

// A limit that would not deny a call does not close it either.
FailureMode FailureModeOf(const LimitUse& asked) {
  return asked.mode == Mode::kEnforce ? asked.limit->on_failure : FailureMode::kOpen;
}

// What a use was told; if the call was not counted, that nothing was taken.
LimitStatus StatusOf(const Call& call, const Use& use) {
  return call.ok ? LimitStatus{use.verdict, use.receipt} : LimitStatus{};
}

// What the limits' failure modes say when the store has no room for a key.
Decision Degraded(std::span<const FailureMode> modes) {
  Decision decision{.allowed = true, .degraded = true};
  for (std::size_t i = 0; i < modes.size(); ++i) {
    if (modes[i] == FailureMode::kOpen || !decision.allowed) continue;
    decision.allowed = false;
    decision.index = static_cast<std::uint16_t>(i);
    decision.headline.outcome = Outcome::kDenied;
    // Nobody can tell when there will be room; a second is as good as any.
    decision.headline.retry_after = std::chrono::seconds(1);
  }
  return decision;
}

// The decision of an answered check, by failure mode if the store could not tell. `failure_mode(i)`
// is that of the call's i-th use.
template <typename ModeOf>
Result<Decision> Decided(const Call& call, ModeOf failure_mode) {
  if (call.ok) return limiter::Headline(call);
  if (!IsOfStore(call.error)) return ToError(call.error);
  std::array<FailureMode, kMaxLimitsPerCall> modes;
  for (std::size_t i = 0; i < call.uses.size(); ++i) modes[i] = failure_mode(i);
  return Degraded({modes.data(), call.uses.size()});
}

}  // namespace

Error ToError(ErrorCode code) { return {code, Explain(code)}; }

void Limiter::Impl::Run(Operation operation, std::span<Use> uses, Call& call) const {
  call.operation = operation;
  call.uses = uses;
  backend->Run(call);
}

Result<Verdict> Limiter::Impl::RunOne(Operation operation, Use& use) const {
  Call call;
  Run(operation, {&use, 1}, call);
  if (!call.ok) return ToError(call.error);
  return use.verdict;
}

bool Limiter::Impl::Affects(Operation operation, Use& use) const {
  Call call;
  Run(operation, {&use, 1}, call);
  return call.ok && call.affected > 0;
}

Limiter::Limiter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Limiter::Limiter(Limiter&&) noexcept = default;
Limiter& Limiter::operator=(Limiter&&) noexcept = default;
Limiter::~Limiter() = default;

Result<Limiter> Limiter::InMemory(const LimiterOptions& options) {
  auto backend = MakeMemoryBackend(options);
  if (!backend) return backend.error();
  return Limiter(std::make_unique<Impl>(std::move(*backend), nullptr));
}

Result<Limiter> Limiter::OnRedis(const RedisLimiterOptions& options) {
  auto backend = MakeRedisBackend(options);
  if (!backend) return backend.error();
  auto fallback = store::MemoryStore::Create({.max_keys = kKeysWithoutRedis});
  if (!fallback) return fallback.error();
  return Limiter(std::make_unique<Impl>(std::move(*backend), std::move(*fallback)));
}

Result<Decision> Limiter::Check(const NamedLimit& limit, std::string_view key, std::int64_t cost,
                                LimitStatus* status) {
  Use use = ToUse(limit, key, cost);
  Call call;
  impl_->Run(Operation::kCheck, {&use, 1}, call);
  if (status != nullptr) *status = StatusOf(call, use);
  return Decided(call, [&](std::size_t) { return limit.on_failure; });
}

Result<Decision> Limiter::Peek(const NamedLimit& limit, std::string_view key,
                               std::int64_t cost) const {
  Use use = ToUse(limit, key, cost);
  Call call;
  impl_->Run(Operation::kPeek, {&use, 1}, call);
  return Decided(call, [&](std::size_t) { return limit.on_failure; });
}

Result<Decision> Limiter::CheckAll(std::span<const LimitUse> uses,
                                   std::span<LimitStatus> statuses) {
  if (uses.size() > kMaxLimitsPerCall) return ToError(ErrorCode::kTooManyLimits);
  std::array<Use, kOnStack> few;
  std::vector<Use> many(uses.size() > kOnStack ? uses.size() : 0);
  const std::span<Use> asked = many.empty() ? std::span(few).first(uses.size()) : std::span(many);
  for (std::size_t i = 0; i < uses.size(); ++i) Ask(uses[i], asked[i]);
  Call call;
  impl_->Run(Operation::kCheck, asked, call);
  for (std::size_t i = 0; i < std::min(statuses.size(), uses.size()); ++i) {
    statuses[i] = StatusOf(call, asked[i]);
  }
  return Decided(call, [&](std::size_t i) { return FailureModeOf(uses[i]); });
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
  // Made once for each thread: to fill all of this with zeros takes as long as some of the checks.
  thread_local std::array<Use, kOnStack> asked;
  thread_local std::array<Call, kOnStack> calls;
  std::array<Call*, kOnStack> pointers;
  for (std::size_t i = 0; i < kOnStack; ++i) {
    calls[i].uses = {&asked[i], 1};
    pointers[i] = &calls[i];
  }
  std::size_t allowed = 0;
  for (std::size_t done = 0; done < uses.size(); done += kOnStack) {
    const auto portion = uses.subspan(done, std::min(kOnStack, uses.size() - done));
    for (std::size_t i = 0; i < portion.size(); ++i) Ask(portion[i], asked[i]);
    impl_->backend->RunBatch({pointers.data(), portion.size()});
    for (std::size_t i = 0; i < portion.size(); ++i) {
      Decision& decision = decisions[done + i];
      // Nothing else can be wrong with a use that was looked at above.
      const FailureMode mode = FailureModeOf(portion[i]);
      decision = calls[i].ok ? limiter::Headline(calls[i]) : Degraded({&mode, 1});
      allowed += decision.allowed ? 1 : 0;
      if (!statuses.empty()) statuses[done + i] = StatusOf(calls[i], asked[i]);
    }
  }
  return allowed;
}

bool Limiter::Reset(const NamedLimit& limit, std::string_view key) {
  Use use = ToUse(limit, key, 0);
  return impl_->Affects(Operation::kReset, use);
}

Result<Verdict> Limiter::Grant(const NamedLimit& limit, std::string_view key, std::int64_t amount) {
  Use use = ToUse(limit, key, amount);
  return impl_->RunOne(Operation::kGrant, use);
}

Result<Verdict> Limiter::Charge(const NamedLimit& limit, std::string_view key,
                                std::int64_t amount) {
  Use use = ToUse({.limit = &limit, .key = key, .cost = amount, .mode = Mode::kForce});
  return impl_->RunOne(Operation::kCheck, use);
}

Result<Verdict> Limiter::Refund(const NamedLimit& limit, std::string_view key,
                                const Receipt& receipt) {
  return Settle(limit, key, receipt, 0);
}

Result<Verdict> Limiter::Settle(const NamedLimit& limit, std::string_view key,
                                const Receipt& receipt, std::int64_t actual_cost) {
  Use use = ToUse(limit, key, actual_cost);
  use.receipt = receipt;
  return impl_->RunOne(Operation::kAdjust, use);
}

bool Limiter::Release(const NamedLimit& limit, std::string_view key, std::uint64_t slot) {
  Use use = ToUse({.limit = &limit, .key = key, .slot = slot});
  return impl_->Affects(Operation::kRelease, use);
}

bool Limiter::Renew(const NamedLimit& limit, std::string_view key, std::uint64_t slot) {
  Use use = ToUse({.limit = &limit, .key = key, .slot = slot});
  return impl_->Affects(Operation::kRenew, use);
}

std::optional<KeyInfo> Limiter::Inspect(const NamedLimit& limit, std::string_view key) const {
  store::Inspection inspection;
  Use use = ToUse(limit, key, 0);
  use.inspection = &inspection;
  Call call;
  impl_->Run(Operation::kInspect, {&use, 1}, call);
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
  return impl_->backend->Walk([&](const store::KeyState& key) {
    return visit({.name = key.name,
                  .id = key.id,
                  .limit = key.limit,
                  .verdict = key.verdict,
                  .level = key.inspection.level,
                  .grant = key.inspection.grant,
                  .touched = key.inspection.touched});
  });
}

LimiterStats Limiter::Stats() const { return impl_->backend->Stats(); }

}  // namespace sluice

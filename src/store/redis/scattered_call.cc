#include "store/redis/scattered_call.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "store/decide.h"
#include "store/redis/message.h"

namespace sluice::store {
namespace {

bool CountsDenied(const KeyUse& use) {
  return use.count_denied && !use.only_looks && use.mode != Mode::kShadow &&
         use.limit->algorithm() != Algorithm::kConcurrency;
}

bool TookSomething(const KeyUse& use) {
  return use.receipt.amount > 0 || use.receipt.from_grant > 0;
}

bool OnlyReads(Operation operation) {
  return operation == Operation::kPeek || operation == Operation::kInspect;
}

}  // namespace

void ScatteredCall::Run(PartRunner& runner, StoreCall& call, std::span<const KeyLocation> locations,
                        SteadyTime deadline) {
  auto scattered =
      std::unique_ptr<ScatteredCall>(new ScatteredCall(runner, call, locations, deadline));
  scattered.release()->Begin();  // From now on its own.
}

ScatteredCall::ScatteredCall(PartRunner& runner, StoreCall& call,
                             std::span<const KeyLocation> locations, SteadyTime deadline)
    : runner_(runner), call_(call), deadline_(deadline), original_(call.uses.size()) {
  std::iota(original_.begin(), original_.end(), std::size_t{0});
  std::stable_sort(original_.begin(), original_.end(),
                   [&](std::size_t a, std::size_t b) { return locations[a] < locations[b]; });
  for (std::size_t i = 0; i < original_.size(); ++i) {
    const KeyLocation& location = locations[original_[i]];
    if (i == 0 || location != locations[original_[i - 1]]) {
      parts_.push_back({.slot = location.slot, .first = i});
    }
    ++parts_.back().count;
    uses_.push_back(call.uses[original_[i]]);
  }
  // Limits that can't deny come last, so that they are never refunded because of others.
  std::stable_partition(parts_.begin(), parts_.end(), [this](const Part& part) {
    const auto uses = UsesOf(part);
    return std::any_of(uses.begin(), uses.end(),
                       [](const KeyUse& use) { return use.mode == Mode::kEnforce; });
  });
}

std::span<KeyUse> ScatteredCall::UsesOf(const Part& part) {
  return std::span(uses_).subspan(part.first, part.count);
}

const Verdict& ScatteredCall::PeekedVerdict(const KeyUse& use) const {
  return looked_[static_cast<std::size_t>(&use - uses_.data())];
}

void ScatteredCall::Begin() {
  const bool is_check = call_.operation == Operation::kCheck;
  stage_ = is_check ? Stage::kLook : Stage::kEach;
  RunAll(is_check ? kPeekBeforeTake : call_.operation);
}

void ScatteredCall::RunAll(Operation operation) {
  for (Part& part : parts_) RunPart(part, operation);
}

void ScatteredCall::RunPart(Part& part, Operation operation) {
  part.call = {.operation = operation, .uses = UsesOf(part)};
  Run(part.call, part.slot);
}

void ScatteredCall::Run(StoreCall& part, std::uint16_t slot) {
  part.now = call_.now;
  part.pending = true;
  part.context = this;
  part.on_done = [](StoreCall& done, void* context) {
    static_cast<ScatteredCall*>(context)->OnDone(done);
  };
  ++outstanding_;
  runner_.RunPart(part, slot, deadline_);
}

void ScatteredCall::OnDone(const StoreCall& done) {
  if (!done.ok) {
    ++failed_;
    // kStoreTimeout is never replaced by another error.
    if (failed_ == 1 || done.error == ErrorCode::kStoreTimeout) error_ = done.error;
  }
  if (--outstanding_ > 0) return;
  switch (stage_) {
    case Stage::kEach:
      return AnswerEach();
    case Stage::kLook:
      return FinishPeek();
    case Stage::kTake:
      return FinishTake();
    case Stage::kCount:
      return ReadCounts();
  }
}

void ScatteredCall::FinishPeek() {
  if (failed_ > 0) return Fail(error_);
  for (const KeyUse& use : uses_) looked_.push_back(use.verdict);
  if (!Passes(uses_)) return Count(0);
  stage_ = Stage::kTake;
  TakeNext();
}

void ScatteredCall::TakeNext() {
  if (taken_ < parts_.size()) {
    // Locations don't know each other's quotas: quotas that don't fit must not deny the call there.
    const std::span<KeyUse> uses = UsesOf(parts_[taken_]);
    const bool any_quota_fits = std::any_of(uses.begin(), uses.end(), [this](const KeyUse& use) {
      return use.mode == Mode::kQuota && PeekedVerdict(use).outcome == Outcome::kAllowed;
    });
    for (KeyUse& use : uses) {
      if (use.mode == Mode::kQuota && !any_quota_fits) use.mode = Mode::kShadow;
    }
    return RunPart(parts_[taken_], Operation::kCheck);
  }
  if (Passes(uses_)) return Answer(true);
  GiveBackTaken();
  Count(taken_);
}

void ScatteredCall::FinishTake() {
  const Part& taken = parts_[taken_];
  for (std::size_t i = 0; i < taken.count; ++i) {
    uses_[taken.first + i].mode = call_.uses[original_[taken.first + i]].mode;
  }
  const StoreCall& part = taken.call;
  if (part.ok && part.allowed) {
    ++taken_;
    return TakeNext();
  }
  GiveBackTaken();
  // Consumption in earlier locations may remain.
  if (!part.ok) return Fail(taken_ > 0 ? ErrorCode::kStoreTimeout : error_);
  Count(taken_ + 1);
}

// All but what denied calls are to take anyway.
void ScatteredCall::GiveBackTaken() {
  for (std::size_t i = 0; i < taken_; ++i) {
    const bool failed = failed_ > 0;
    for (KeyUse& use : UsesOf(parts_[i])) {
      if (!failed && CountsDenied(use)) continue;
      if (TookSomething(use)) runner_.GiveBack(use, parts_[i].slot, call_.now);
      use.receipt = {};
      use.verdict = PeekedVerdict(use);
    }
  }
}

// The call is denied: those of its limits that count denied calls take what they can, each for
// itself. The others of the same location are looked at again, since they may be about the same
// key.
void ScatteredCall::Count(std::size_t first_part) {
  stage_ = Stage::kCount;
  const auto parts = std::span(parts_).subspan(first_part);
  std::vector<std::uint16_t> slots;
  for (const Part& part : parts) {
    const auto uses = UsesOf(part);
    if (std::none_of(uses.begin(), uses.end(), CountsDenied)) continue;
    for (KeyUse& use : uses) {
      const bool counts = CountsDenied(use);
      use.mode = Mode::kEnforce;
      if (!counts) use.cost = 0;
      counts_.push_back(
          {.operation = counts ? Operation::kCheck : Operation::kPeek, .uses = {&use, 1}});
      slots.push_back(part.slot);
    }
  }
  if (counts_.empty()) return Answer(false);
  for (std::size_t i = 0; i < counts_.size(); ++i) Run(counts_[i], slots[i]);
}

// The call is denied even if counting failed.
void ScatteredCall::ReadCounts() {
  for (const StoreCall& count : counts_) {
    KeyUse& use = count.uses[0];
    const Verdict& peeked = PeekedVerdict(use);
    if (!count.ok) {
      use.verdict = peeked;
      use.receipt = {};
    }
    use.verdict.outcome = peeked.outcome;
    use.verdict.retry_after = peeked.retry_after;
  }
  Answer(false);
}

void ScatteredCall::AnswerEach() {
  if (failed_ > 0) {
    const bool some_happened = failed_ < parts_.size() && !OnlyReads(call_.operation);
    return Fail(some_happened ? ErrorCode::kStoreTimeout : error_);
  }
  for (const Part& part : parts_) call_.affected += part.call.affected;
  if (call_.operation != Operation::kPeek) return Answer(true);
  if (looked_.empty()) {
    const bool passes = Passes(uses_);
    return passes && PeekDelays() ? void() : Answer(passes);
  }
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    const Micros delay = uses_[i].verdict.delay;
    uses_[i].verdict = looked_[i];
    uses_[i].verdict.delay = delay;
  }
  Answer(true);
}

// Where no quota fits, a location answered as if the call were denied, without delays: it does not
// know of the quotas in the others. Returns whether there are such locations; they are asked again.
bool ScatteredCall::PeekDelays() {
  for (const KeyUse& use : uses_) looked_.push_back(use.verdict);
  std::vector<Part*> denied;
  for (Part& part : parts_) {
    if (!part.call.allowed) denied.push_back(&part);
  }
  for (Part* const part : denied) {
    for (KeyUse& use : UsesOf(*part)) {
      if (use.mode == Mode::kQuota) use.mode = Mode::kShadow;
    }
  }
  for (Part* const part : denied) RunPart(*part, Operation::kPeek);
  return !denied.empty();
}

void ScatteredCall::Answer(bool allowed) {
  const bool is_check = call_.operation == Operation::kCheck || call_.operation == Operation::kPeek;
  call_.ok = true;
  call_.allowed = allowed;
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    KeyUse& use = call_.uses[original_[i]];
    use.verdict = uses_[i].verdict;
    if (!allowed) use.verdict.delay = Micros{0};
    if (is_check || call_.operation == Operation::kGrant) use.receipt = uses_[i].receipt;
  }
  Finish();
}

void ScatteredCall::Fail(ErrorCode error) {
  call_.ok = false;
  call_.error = error;
  Finish();
}

void ScatteredCall::Finish() {
  const std::unique_ptr<ScatteredCall> self(this);
  call_.pending = false;
  if (call_.on_done != nullptr) call_.on_done(call_, call_.context);
}

}  // namespace sluice::store

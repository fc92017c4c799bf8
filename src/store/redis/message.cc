#include "store/redis/message.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "algo/algorithm_info.h"
#include "base/parse_number.h"
#include "base/random.h"
#include "redis/slot.h"
#include "resp/encoder.h"
#include "store/decide.h"
#include "store/redis/check_script.h"

namespace sluice::store {
namespace {

// For each use: outcome, left, grant, retry, reset, delay, amount, from_grant, at, grant_expires.
constexpr std::size_t kNumbersPerUse = 10;
// For each use of a fetch: tokens, their schedule (4), generation, expires, good_for, flags, left,
// retry, reset, taken_at, epoch.
constexpr std::size_t kNumbersPerGrant = 14;
constexpr std::size_t kArgumentsPerUse = 3;
constexpr std::int64_t kNothingTaken = -1;
// In place of the number of affected keys.
constexpr std::int64_t kTooManyMarks = -2;
constexpr std::int64_t kWasMoved = 2;
// In place of the first call's result: the number of answered calls follows.
constexpr std::int64_t kOnlyTheFirst = -3;
constexpr std::size_t kNumbersOfHeading = 2;
// Estimated work of uses that are not plain checks, for strings and sorted sets: see check.lua.
constexpr std::size_t kWorkOfString = 5;
constexpr std::size_t kWorkOfSet = 13;

char LetterOf(Operation operation) {
  if (operation == kPeekBeforeTake) return 'K';
  switch (operation) {
    case Operation::kCheck:
      return 'C';
    case Operation::kPeek:
      return 'P';
    case Operation::kReset:
      return 'R';
    case Operation::kGrant:
      return 'G';
    case Operation::kAdjust:
      return 'A';
    case Operation::kRelease:
      return 'L';
    case Operation::kRenew:
      return 'N';
    case Operation::kInspect:
      return 'I';
    case Operation::kFetch:
      return 'F';
    case Operation::kReturn:
      return 'H';
  }
  return '?';
}

std::string_view NameOf(Anchor anchor) {
  switch (anchor) {
    case Anchor::kEpoch:
      return "epoch";
    case Anchor::kFirstHit:
      return "first_hit";
    case Anchor::kDay:
      return "day";
    case Anchor::kWeek:
      return "week";
    case Anchor::kMonth:
      return "month";
    case Anchor::kYear:
      return "year";
  }
  return "";
}

char LetterOf(Mode mode) {
  switch (mode) {
    case Mode::kEnforce:
      return 'e';
    case Mode::kShadow:
      return 's';
    case Mode::kForce:
      return 'f';
    case Mode::kQuota:
      return 'q';
  }
  return '?';
}

char LetterOf(SettlementStep step) {
  switch (step) {
    case SettlementStep::kFinal:
      return 'f';
    case SettlementStep::kPartial:
      return 'p';
    case SettlementStep::kMove:
      return 'm';
  }
  return '?';
}

void AppendNumbers(std::initializer_list<std::int64_t> numbers, std::string& out) {
  for (const std::int64_t number : numbers) {
    out.push_back(',');
    AppendNumber(number, out);
  }
}

void AppendLimit(const LimitNumbers& limit, std::string& out) {
  out.push_back(algo::InfoOf(limit.algorithm).letter);
  if (algo::IsBucket(limit.algorithm)) {
    return AppendNumbers({limit.cap, limit.rate_num, limit.rate_den, limit.interval.count()}, out);
  }
  AppendNumbers({limit.cap, limit.window.count()}, out);
  if (limit.algorithm == Algorithm::kFixedWindow) out.append(",").append(NameOf(limit.anchor));
}

bool TakesSlot(const StoreCall& call, const KeyUse& use) {
  return call.operation == Operation::kCheck && !use.only_looks &&
         use.limit->algorithm() == Algorithm::kConcurrency;
}

bool NamesSlot(const KeyUse& use) {
  return use.slot != 0 && use.limit->algorithm() == Algorithm::kConcurrency;
}

bool Leases(const StoreCall& call) {
  return call.operation == Operation::kFetch || call.operation == Operation::kReturn;
}

bool Settles(const StoreCall& call, const KeyUse& use) {
  return call.operation == Operation::kAdjust && use.settlement != nullptr;
}

bool GrantsForATime(const StoreCall& call, const KeyUse& use) {
  return call.operation == Operation::kGrant && use.receipt.grant_expires != WallTime{};
}

bool HasParticulars(const StoreCall& call, const KeyUse& use) {
  return Leases(call) || use.mode != Mode::kEnforce || use.count_denied || use.only_looks ||
         NamesSlot(use) || TakesSlot(call, use) || call.operation == Operation::kAdjust ||
         GrantsForATime(call, use);
}

void AppendLeaseRequest(const algo::lease::Request& request, std::string& out) {
  const auto number = [](std::int64_t value) { return std::max(value, std::int64_t{0}); };
  for (const algo::lease::Report& report : request.reports) {
    AppendNumbers({report.of.generation, report.of.expires.time_since_epoch().count(),
                   number(report.spent), number(report.returned)},
                  out);
  }
  AppendNumbers({number(request.waiting), number(request.least), number(request.demand),
                 number(request.denied), number(request.epoch), number(request.nodes)},
                out);
}

// Appends unusual fields: none for an enforced check without a slot.
void AppendParticulars(const StoreCall& call, KeyUse& use, std::string& out) {
  if (!HasParticulars(call, use)) return;
  if (Leases(call)) return AppendLeaseRequest(use.lending->request, out);
  const bool takes_slot = TakesSlot(call, use);
  out.push_back(LetterOf(use.mode));
  out.push_back(use.only_looks ? 'l' : use.count_denied ? 'd' : '-');
  if (takes_slot) use.receipt.slot = use.slot != 0 ? use.slot : RandomId();
  if (NamesSlot(use)) {
    out.push_back('o');  // An id chosen by the caller: the slot may already be held.
    AppendNumber(use.slot, out);
  } else if (takes_slot) {
    out.push_back('n');
    AppendNumber(use.receipt.slot, out);
  }
  const bool adjusts = call.operation == Operation::kAdjust;
  AppendNumbers(
      {adjusts ? use.receipt.amount : 0, adjusts ? use.receipt.from_grant : 0,
       adjusts ? use.receipt.at.time_since_epoch().count() : 0,
       adjusts || GrantsForATime(call, use) ? use.receipt.grant_expires.time_since_epoch().count()
                                            : 0},
      out);
  if (!Settles(call, use)) return;
  out.push_back(',');
  AppendNumber(use.settlement->receipt, out);
  AppendNumbers({use.settlement->expires.time_since_epoch().count(), use.settlement->max_per_key},
                out);
  out.push_back(',');
  out.push_back(LetterOf(use.settlement->step));
}

// Returns whether two calls differ only in their keys.
bool AreEqual(const StoreCall& a, const StoreCall& b) {
  if (a.operation != b.operation || a.uses.size() != b.uses.size()) return false;
  for (std::size_t i = 0; i < a.uses.size(); ++i) {
    const KeyUse& x = a.uses[i];
    const KeyUse& y = b.uses[i];
    if (HasParticulars(a, x) || HasParticulars(b, y) || x.cost != y.cost) return false;
    if (x.limit != y.limit && *x.limit != *y.limit) return false;
  }
  return true;
}

std::size_t CountKeys(std::span<StoreCall* const> calls) {
  std::size_t keys = 0;
  for (const StoreCall* call : calls) {
    for (const KeyUse& use : call->uses) keys += Settles(*call, use) ? 2 : 1;
  }
  return keys;
}

bool IsCheck(Operation operation) {
  return operation == Operation::kCheck || operation == Operation::kPeek ||
         operation == kPeekBeforeTake;
}

class Numbers {
 public:
  explicit Numbers(resp::Value reply) : at_(reply.begin()), end_(reply.end()) {}

  // 0 past the end, and `ok` is false.
  std::int64_t Next() {
    if (at_ == end_) {
      ok_ = false;
      return 0;
    }
    const auto number = (*at_).ToInteger();
    ++at_;
    if (!number) ok_ = false;
    return number.value_or(0);
  }
  Micros NextWait() { return Micros{Next()}; }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return at_ == end_; }

 private:
  resp::Value::Iterator at_;
  resp::Value::Iterator end_;
  bool ok_ = true;
};

void ReadVerdict(const StoreCall& call, KeyUse& use, Numbers& numbers) {
  const std::uint64_t slot = use.receipt.slot;
  use.verdict = {.outcome = static_cast<Outcome>(numbers.Next()), .limit = use.limit->cap()};
  use.verdict.remaining = numbers.Next() + numbers.Next();
  use.verdict.retry_after = numbers.NextWait();
  use.verdict.reset_after = numbers.NextWait();
  use.verdict.delay = numbers.NextWait();
  Receipt receipt{.amount = numbers.Next(), .from_grant = numbers.Next()};
  const std::int64_t taken_at = numbers.Next();
  receipt.grant_expires = WallTime{numbers.NextWait()};
  if (call.operation == Operation::kGrant) use.receipt.grant_expires = receipt.grant_expires;
  if (Settles(call, use)) {
    use.settlement->total = receipt.amount;
    use.settlement->charged = taken_at;
    use.settlement->repeated = receipt.from_grant != 0;
    use.settlement->ended_by =
        receipt.from_grant == kWasMoved ? SettlementStep::kMove : SettlementStep::kFinal;
  }
  if (!IsCheck(call.operation)) return;
  if (taken_at != kNothingTaken) {
    receipt.at = WallTime{Micros{taken_at}};
    if (TakesSlot(call, use)) receipt.slot = slot;
  }
  use.receipt = receipt;
}

void ReadInspection(KeyUse& use, Numbers& numbers) {
  Inspection inspection{.live = numbers.Next() != 0};
  const std::int64_t left = numbers.Next();
  inspection.grant = numbers.Next();
  use.verdict = {.limit = use.limit->cap(), .remaining = left + inspection.grant};
  inspection.level = numbers.Next();
  use.verdict.reset_after = numbers.NextWait();
  inspection.leased = numbers.Next();
  inspection.expiring_grant = numbers.Next();
  inspection.grant_expires = WallTime{numbers.NextWait()};
  inspection.fresh_after = numbers.NextWait();
  inspection.touched = WallTime{numbers.NextWait()};
  if (use.inspection != nullptr) *use.inspection = inspection;
}

void ReadGrant(algo::lease::Grant& grant, Numbers& numbers) {
  grant.tokens = numbers.Next();
  grant.schedule.ready = numbers.Next();
  grant.schedule.fraction = numbers.Next();
  grant.schedule.num = numbers.Next();
  grant.schedule.den = numbers.Next();
  grant.id.generation = numbers.Next();
  grant.id.expires = WallTime{numbers.NextWait()};
  grant.good_for = numbers.NextWait();
  const std::int64_t flags = numbers.Next();
  grant.lapses = (flags & 1) != 0;
  grant.exact = (flags & 2) != 0;
  grant.recall = (flags & 4) != 0;
  grant.left = numbers.Next();
  grant.retry_after = numbers.NextWait();
  grant.reset_after = numbers.NextWait();
  grant.taken_at = WallTime{numbers.NextWait()};
  grant.epoch = numbers.Next();
}

void ReadCall(StoreCall& call, Numbers& numbers) {
  const std::int64_t answer = numbers.Next();
  call.ok = answer >= 0;
  if (!call.ok) {
    call.error =
        answer == kTooManyMarks ? ErrorCode::kTooManySettlements : ErrorCode::kForeignValue;
  }
  const bool is_check = IsCheck(call.operation);
  call.allowed = is_check ? answer == 1 : call.ok;
  call.affected = is_check || !call.ok ? 0 : static_cast<std::size_t>(answer);
  for (KeyUse& use : call.uses) {
    if (call.operation == Operation::kInspect) {
      ReadInspection(use, numbers);
    } else if (call.operation == Operation::kFetch) {
      ReadGrant(use.lending->grant, numbers);
    } else {
      ReadVerdict(call, use, numbers);
    }
  }
}

// Number of values in the reply to a plain check: a bucket's remaining units; a window's used
// units, and its start or the previous window's used units.
std::size_t NumbersOfPlainUse(const KeyUse& use) {
  return algo::IsBucket(use.limit->algorithm()) ? 1 : 2;
}

algo::State ReadPlainState(const KeyUse& use, WallTime now, Numbers& numbers) {
  const LimitNumbers& limit = use.limit->numbers();
  algo::State state = algo::Fresh(limit, now);
  algo::Advance(limit, now, state);
  state.value = numbers.Next();
  if (limit.algorithm == Algorithm::kFixedWindow) state.at = WallTime{Micros{numbers.Next()}};
  if (limit.algorithm == Algorithm::kSlidingWindowCounter) state.previous = numbers.Next();
  return state;
}

// The script returns the state; the verdict is computed here with the same arithmetic.
void ReadPlainAnswers(std::span<StoreCall* const> calls, Numbers& numbers) {
  const WallTime now{Micros{numbers.Next()}};
  // Reused buffers of the thread.
  thread_local std::vector<EvaluatedKey> subjects;
  thread_local std::vector<EvaluatedKey*> pointers;
  for (StoreCall* call : calls) {
    subjects.clear();
    pointers.clear();
    for (const KeyUse& use : call->uses) {
      subjects.push_back({.state = ReadPlainState(use, now, numbers)});
    }
    for (EvaluatedKey& subject : subjects) pointers.push_back(&subject);
    const WallTime asked_for = std::exchange(call->now, now);
    Decide(*call, pointers);
    call->now = asked_for;
    call->ok = true;
  }
}

// Calls that differ in their keys only.
void AppendRun(StoreCall& call, std::size_t times, std::string& text, std::string& out) {
  text.assign(1, LetterOf(call.operation));
  AppendNumber(call.uses.size(), text);
  text.push_back('*');
  AppendNumber(times, text);
  resp::AppendBulk(out, text);
  for (KeyUse& use : call.uses) {
    text.clear();
    AppendLimit(use.limit->numbers(), text);
    resp::AppendBulk(out, text);
    resp::AppendBulkInteger(out, use.cost);
    text.clear();
    AppendParticulars(call, use, text);
    resp::AppendBulk(out, text);
  }
}

}  // namespace

void AppendRedisKey(const Key& key, std::string& out) {
  out.append("sluice:v1:");
  AppendKeyName(key, out);
}

void AppendMarksKey(const Key& key, std::string& out) {
  const std::size_t begin = out.size();
  AppendRedisKey(key, out);
  if (key.tag.empty()) {
    // The whole name of such a key determines its slot: its marks need an explicit hash tag.
    const std::uint32_t tag =
        redis::TagNumberOf(redis::SlotOf(std::string_view(out).substr(begin)));
    constexpr std::string_view kUpToTag = "sluice:v1:{";
    out.insert(begin + kUpToTag.size(), std::to_string(tag) + "}{");
  }
  // A character that does not occur in keys.
  out.append("#settled");
}

void AppendRequest(std::span<StoreCall* const> calls, ScriptForm by, std::optional<WallTime> now,
                   std::string& out) {
  // The command, the script, the number of keys, the keys, the time; then each run of equal calls.
  const std::size_t keys = CountKeys(calls);
  std::size_t arguments = 4 + keys;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (i > 0 && AreEqual(*calls[i - 1], *calls[i])) continue;
    arguments += 1 + calls[i]->uses.size() * kArgumentsPerUse;
  }
  resp::AppendArrayHeader(out, arguments);
  resp::AppendBulk(out, by == ScriptForm::kSha ? "EVALSHA" : "EVAL");
  resp::AppendBulk(out, by == ScriptForm::kSha ? kCheckScriptSha : kCheckScript);
  resp::AppendBulkInteger(out, static_cast<std::int64_t>(keys));
  thread_local std::string text;  // Kept by the thread, so that it is allocated once.
  for (const StoreCall* call : calls) {
    for (const KeyUse& use : call->uses) {
      text.clear();
      AppendRedisKey(use.key, text);
      resp::AppendBulk(out, text);
      if (!Settles(*call, use)) continue;
      text.clear();
      AppendMarksKey(use.key, text);
      resp::AppendBulk(out, text);
    }
  }
  if (now) {
    resp::AppendBulkInteger(out, now->time_since_epoch().count());
  } else {
    resp::AppendBulk(out, "");
  }
  while (!calls.empty()) {
    std::size_t times = 1;
    while (times < calls.size() && AreEqual(*calls[times - 1], *calls[times])) ++times;
    AppendRun(*calls[0], times, text, out);
    calls = calls.subspan(times);
  }
}

std::size_t ReadAnswers(resp::Value reply, std::span<StoreCall* const> calls) {
  if (reply.type() != resp::Type::kArray) return 0;
  Numbers numbers(reply);
  std::size_t heading = 0;
  if (reply.size() > kNumbersOfHeading && (*reply.begin()).ToInteger() == kOnlyTheFirst) {
    numbers.Next();
    const std::int64_t answered = numbers.Next();
    if (answered < 1 || static_cast<std::size_t>(answered) > calls.size()) return 0;
    calls = calls.first(static_cast<std::size_t>(answered));
    heading = kNumbersOfHeading;
  }
  std::size_t if_plain = 1;
  std::size_t if_not = heading + calls.size();
  for (const StoreCall* call : calls) {
    for (const KeyUse& use : call->uses) if_plain += NumbersOfPlainUse(use);
    const bool fetches = call->operation == Operation::kFetch;
    if_not += call->uses.size() * (fetches ? kNumbersPerGrant : kNumbersPerUse);
  }
  if (heading == 0 && reply.size() == if_plain) {
    ReadPlainAnswers(calls, numbers);
  } else if (reply.size() == if_not) {
    for (StoreCall* call : calls) ReadCall(*call, numbers);
  } else {
    return 0;
  }
  return numbers.ok() ? calls.size() : 0;
}

std::size_t WorkOf(const StoreCall& call) {
  std::size_t work = 0;
  for (const KeyUse& use : call.uses) {
    const bool plain = call.operation == Operation::kCheck && !HasParticulars(call, use) &&
                       !algo::InfoOf(use.limit->algorithm()).keeps_history;
    work += plain ? 1 : MostWorkOf(use);
    if (Settles(call, use)) work += kWorkOfString;
  }
  return work;
}

std::size_t MostWorkOf(const KeyUse& use) {
  return algo::InfoOf(use.limit->algorithm()).keeps_history ? kWorkOfSet : kWorkOfString;
}

}  // namespace sluice::store

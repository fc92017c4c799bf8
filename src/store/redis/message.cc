#include "store/redis/message.h"

#include <array>
#include <charconv>

#include "base/random.h"
#include "resp/encoder.h"
#include "store/redis/check_script.h"

namespace sluice::store {
namespace {

// For each use: outcome, left, grant, retry, reset, delay, amount, from_grant, at.
constexpr std::size_t kNumbersPerUse = 9;
constexpr std::size_t kArgumentsPerUse = 3;
constexpr std::int64_t kNothingTaken = -1;

char LetterOf(Operation operation) {
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
  }
  return '?';
}

char LetterOf(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kTokenBucket:
      return 't';
    case Algorithm::kLeakyBucket:
      return 'l';
    case Algorithm::kFixedWindow:
      return 'f';
    case Algorithm::kSlidingWindowLog:
      return 's';
    case Algorithm::kSlidingWindowCounter:
      return 'w';
    case Algorithm::kConcurrency:
      return 'c';
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
  }
  return '?';
}

template <typename Number>
void AppendNumber(Number number, std::string& out) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), end.ptr);
}

void AppendNumbers(std::initializer_list<std::int64_t> numbers, std::string& out) {
  for (const std::int64_t number : numbers) {
    out.push_back(',');
    AppendNumber(number, out);
  }
}

void AppendLimit(const LimitNumbers& limit, std::string& out) {
  out.push_back(LetterOf(limit.algorithm));
  switch (limit.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      AppendNumbers({limit.cap, limit.rate_num, limit.rate_den, limit.interval.count()}, out);
      break;
    case Algorithm::kFixedWindow:
      AppendNumbers({limit.cap, limit.window.count()}, out);
      out.push_back(',');
      out.append(NameOf(limit.anchor));
      break;
    default:
      AppendNumbers({limit.cap, limit.window.count()}, out);
  }
}

// What is not as usual: nothing for an enforced check without a slot.
void AppendParticulars(const Call& call, Use& use, std::string& out) {
  const bool takes_slot =
      call.operation == Operation::kCheck && use.limit->algorithm() == Algorithm::kConcurrency;
  const bool usual = use.mode == Mode::kEnforce && !use.count_denied && use.slot == 0 &&
                     !takes_slot && call.operation != Operation::kAdjust;
  if (usual) return;
  out.push_back(LetterOf(use.mode));
  out.push_back(use.count_denied ? 'd' : '-');
  if (takes_slot) use.receipt.slot = use.slot != 0 ? use.slot : RandomId();
  if (use.slot != 0) {
    out.push_back('o');  // The caller's own: it may be held already.
    AppendNumber(use.slot, out);
  } else if (takes_slot) {
    out.push_back('n');
    AppendNumber(use.receipt.slot, out);
  }
  const bool adjusts = call.operation == Operation::kAdjust;
  AppendNumbers({adjusts ? use.receipt.amount : 0, adjusts ? use.receipt.from_grant : 0,
                 adjusts ? use.receipt.at.time_since_epoch().count() : 0},
                out);
}

class Numbers {
 public:
  explicit Numbers(resp::Value reply) : at_(reply.begin()), end_(reply.end()) {}

  // 0 past the end; `ok` tells.
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

void ReadVerdict(const Call& call, Use& use, Numbers& numbers) {
  const std::uint64_t slot = use.receipt.slot;
  use.verdict = {.outcome = static_cast<Outcome>(numbers.Next()), .limit = use.limit->cap()};
  use.verdict.remaining = numbers.Next() + numbers.Next();
  use.verdict.retry_after = numbers.NextWait();
  use.verdict.reset_after = numbers.NextWait();
  use.verdict.delay = numbers.NextWait();
  Receipt receipt{.amount = numbers.Next(), .from_grant = numbers.Next()};
  const std::int64_t taken_at = numbers.Next();
  const bool takes = call.operation == Operation::kCheck || call.operation == Operation::kPeek;
  if (!takes) return;
  if (taken_at != kNothingTaken) {
    receipt.at = WallTime{Micros{taken_at}};
    if (use.limit->algorithm() == Algorithm::kConcurrency) receipt.slot = slot;
  }
  use.receipt = receipt;
}

void ReadInspection(Use& use, Numbers& numbers) {
  Inspection inspection{.live = numbers.Next() != 0};
  const std::int64_t left = numbers.Next();
  inspection.grant = numbers.Next();
  use.verdict = {.limit = use.limit->cap(), .remaining = left + inspection.grant};
  inspection.level = numbers.Next();
  use.verdict.reset_after = numbers.NextWait();
  for (int unused = 0; unused < 3; ++unused) numbers.Next();
  inspection.touched = WallTime{numbers.NextWait()};
  if (use.inspection != nullptr) *use.inspection = inspection;
}

void ReadCall(Call& call, Numbers& numbers) {
  const std::int64_t answer = numbers.Next();
  call.ok = answer >= 0;
  if (!call.ok) call.error = ErrorCode::kForeignValue;
  const bool is_check = call.operation == Operation::kCheck || call.operation == Operation::kPeek;
  call.allowed = is_check ? answer == 1 : call.ok;
  call.affected = is_check || !call.ok ? 0 : static_cast<std::size_t>(answer);
  for (Use& use : call.uses) {
    if (call.operation == Operation::kInspect) {
      ReadInspection(use, numbers);
    } else {
      ReadVerdict(call, use, numbers);
    }
  }
}

}  // namespace

void AppendRedisKey(const Key& key, std::string& out) {
  out.append("sluice:v1:");
  AppendKeyName(key, out);
}

void AppendRequest(std::span<Call* const> calls, CallBy by, std::optional<WallTime> now,
                   std::string& out) {
  std::size_t keys = 0;
  for (const Call* call : calls) keys += call->uses.size();
  // The command, the script, the number of keys, the keys, the time; a heading for each call.
  resp::AppendArrayHeader(out, 4 + keys + calls.size() + keys * kArgumentsPerUse);
  resp::AppendBulk(out, by == CallBy::kSha ? "EVALSHA" : "EVAL");
  resp::AppendBulk(out, by == CallBy::kSha ? kCheckScriptSha : kCheckScript);
  resp::AppendBulkInteger(out, static_cast<std::int64_t>(keys));
  std::string text;
  for (const Call* call : calls) {
    for (const Use& use : call->uses) {
      text.clear();
      AppendRedisKey(use.key, text);
      resp::AppendBulk(out, text);
    }
  }
  if (now) {
    resp::AppendBulkInteger(out, now->time_since_epoch().count());
  } else {
    resp::AppendBulk(out, "");
  }
  for (Call* call : calls) {
    text.assign(1, LetterOf(call->operation));
    AppendNumber(call->uses.size(), text);
    resp::AppendBulk(out, text);
    for (Use& use : call->uses) {
      text.clear();
      AppendLimit(use.limit->numbers(), text);
      resp::AppendBulk(out, text);
      resp::AppendBulkInteger(out, use.cost);
      text.clear();
      AppendParticulars(*call, use, text);
      resp::AppendBulk(out, text);
    }
  }
}

bool ReadAnswers(resp::Value reply, std::span<Call* const> calls) {
  std::size_t expected = calls.size();
  for (const Call* call : calls) expected += call->uses.size() * kNumbersPerUse;
  if (reply.type() != resp::Type::kArray || reply.size() != expected) return false;
  Numbers numbers(reply);
  for (Call* call : calls) ReadCall(*call, numbers);
  return numbers.ok();
}

}  // namespace sluice::store

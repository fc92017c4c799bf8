#include "store/testing/describe.h"

#include <sstream>

namespace sluice::store::testing {

namespace {

const char* NameOf(Operation operation) {
  switch (operation) {
    case Operation::kCheck:
      return "check";
    case Operation::kPeek:
      return "peek";
    case Operation::kReset:
      return "reset";
    case Operation::kGrant:
      return "grant";
    case Operation::kAdjust:
      return "adjust";
    case Operation::kRelease:
      return "release";
    case Operation::kRenew:
      return "renew";
    case Operation::kInspect:
      return "inspect";
    case Operation::kFetch:
      return "fetch";
    case Operation::kReturn:
      return "return";
  }
  return "?";
}

const char* NameOf(Mode mode) {
  switch (mode) {
    case Mode::kEnforce:
      return "enforce";
    case Mode::kShadow:
      return "shadow";
    case Mode::kForce:
      return "force";
    case Mode::kQuota:
      return "quota";
  }
  return "?";
}

const char* NameOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAllowed:
      return "allowed";
    case Outcome::kDenied:
      return "denied";
    case Outcome::kNeverFits:
      return "never fits";
  }
  return "?";
}

const char* NameOf(Anchor anchor) {
  switch (anchor) {
    case Anchor::kEpoch:
      return "epoch";
    case Anchor::kFirstHit:
      return "first hit";
    case Anchor::kDay:
      return "day";
    case Anchor::kWeek:
      return "week";
    case Anchor::kMonth:
      return "month";
    case Anchor::kYear:
      return "year";
  }
  return "?";
}

std::ostream& operator<<(std::ostream& out, const LimitNumbers& limit) {
  out << AlgorithmName(limit.algorithm) << '(' << limit.cap;
  if (limit.rate_num > 0) {
    out << " at " << limit.rate_num << '/' << limit.rate_den << " per " << limit.interval.count();
  } else {
    out << " per " << limit.window.count() << ' ' << NameOf(limit.anchor);
  }
  return out << ')';
}

std::ostream& operator<<(std::ostream& out, const Receipt& receipt) {
  return out << "receipt{" << receipt.amount << " + " << receipt.from_grant << " at "
             << receipt.at.time_since_epoch().count() << " slot " << receipt.slot << " until "
             << receipt.grant_expires.time_since_epoch().count() << '}';
}

std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
  return out << NameOf(verdict.outcome) << " limit " << verdict.limit << " remaining "
             << verdict.remaining << " retry " << verdict.retry_after.count() << " reset "
             << verdict.reset_after.count() << " delay " << verdict.delay.count();
}

bool CountsAffected(Operation operation) {
  return operation == Operation::kReset || operation == Operation::kRelease ||
         operation == Operation::kRenew;
}

class Differences {
 public:
  template <typename T>
  void Compare(const char* what, const T& a, const T& b) {
    if (a != b) out_ << what << ": " << a << ", " << b << '\n';
  }
  template <typename T>
  void CompareIn(std::size_t use, const char* what, const T& a, const T& b) {
    if (a != b) out_ << "use " << use << ' ' << what << ": " << a << ", " << b << '\n';
  }
  [[nodiscard]] std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

void CompareUse(Operation operation, std::size_t i, const KeyUse& a, const KeyUse& b,
                Differences& differences) {
  if (operation != Operation::kReset) differences.CompareIn(i, "verdict", a.verdict, b.verdict);
  if (operation == Operation::kGrant) {
    differences.CompareIn(i, "expiry", a.receipt.grant_expires.time_since_epoch().count(),
                          b.receipt.grant_expires.time_since_epoch().count());
  }
  if (operation == Operation::kCheck || operation == Operation::kPeek) {
    differences.CompareIn(i, "receipt", a.receipt, b.receipt);
  }
  if (operation == Operation::kAdjust && a.settlement != nullptr) {
    differences.CompareIn(i, "settled total", a.settlement->total, b.settlement->total);
    differences.CompareIn(i, "charged", a.settlement->charged, b.settlement->charged);
    differences.CompareIn(i, "repeated", a.settlement->repeated, b.settlement->repeated);
    if (a.settlement->repeated) {
      differences.CompareIn(i, "ended by", static_cast<int>(a.settlement->ended_by),
                            static_cast<int>(b.settlement->ended_by));
    }
  }
  if (operation == Operation::kInspect) {
    differences.CompareIn(i, "live", a.inspection->live, b.inspection->live);
    differences.CompareIn(i, "level", a.inspection->level, b.inspection->level);
    differences.CompareIn(i, "grant", a.inspection->grant, b.inspection->grant);
    differences.CompareIn(i, "expiring grant", a.inspection->expiring_grant,
                          b.inspection->expiring_grant);
    differences.CompareIn(i, "expiry of the grant",
                          a.inspection->grant_expires.time_since_epoch().count(),
                          b.inspection->grant_expires.time_since_epoch().count());
    differences.CompareIn(i, "time until fresh", a.inspection->fresh_after.count(),
                          b.inspection->fresh_after.count());
  }
}

}  // namespace

std::string DescribeCall(const StoreCall& call) {
  std::ostringstream out;
  out << NameOf(call.operation) << " at " << call.now.time_since_epoch().count();
  if (!call.ok) {
    out << " -> " << ErrorName(call.error);
  } else {
    out << " -> " << (call.allowed ? "allowed" : "not allowed") << ", affected " << call.affected;
  }
  out << '\n';
  for (const KeyUse& use : call.uses) {
    out << "    " << use.key.tag.substr(0, 8) << '|' << use.key.rest << ' ' << use.limit->numbers()
        << ' ' << NameOf(use.mode) << (use.count_denied ? " count_denied" : "")
        << (use.only_looks ? " only_looks" : "") << " cost " << use.cost << " slot " << use.slot
        << "\n        -> " << use.verdict << ", " << use.receipt;
    if (use.settlement != nullptr) {
      out << ", settlement{" << use.settlement->receipt << " expires "
          << use.settlement->expires.time_since_epoch().count() << " at most "
          << use.settlement->max_per_key << " step " << static_cast<int>(use.settlement->step)
          << " -> " << use.settlement->charged << " to " << use.settlement->total
          << (use.settlement->repeated ? " repeated" : "") << '}';
    }
    out << '\n';
  }
  return out.str();
}

std::string DescribeDifference(const StoreCall& a, const StoreCall& b) {
  Differences differences;
  differences.Compare("ok", a.ok, b.ok);
  if (!a.ok || !b.ok) {
    if (a.ok == b.ok)
      differences.Compare("error", std::string(ErrorName(a.error)),
                          std::string(ErrorName(b.error)));
    return differences.text();
  }
  const bool decides = a.operation == Operation::kCheck || a.operation == Operation::kPeek;
  if (decides) differences.Compare("allowed", a.allowed, b.allowed);
  if (CountsAffected(a.operation)) differences.Compare("affected", a.affected, b.affected);
  for (std::size_t i = 0; i < a.uses.size(); ++i) {
    CompareUse(a.operation, i, a.uses[i], b.uses[i], differences);
  }
  return differences.text();
}

}  // namespace sluice::store::testing

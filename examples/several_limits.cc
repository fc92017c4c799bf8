// A call to a language model counts against two limits at once: requests and tokens per minute. How
// many tokens it uses is known only afterwards, so they are reserved by estimate and settled later.
//
// - CheckAll takes from both limits or from neither: a call that one of them denies costs nothing
//   in the other.
// - Settle corrects the estimate to the real usage, in the window in which they were taken.
// - Refund gives everything back, for calls that failed.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <sluice/sluice.h>

namespace {

// The result of a call to the model. (There is no model here: the caller sets the result.)
struct Answer {
  bool failed = false;
  std::int64_t tokens_used = 0;
};

class ModelGate {
 public:
  ModelGate(sluice::Limiter& limiter, const sluice::Limit& requests, const sluice::Limit& tokens)
      : limiter_(limiter), requests_{"requests", requests}, tokens_{"tokens", tokens} {}

  // Returns false if the call may not be made now.
  bool Call(std::string_view api_key, std::int64_t estimated_tokens, const Answer& answer) {
    const std::array<sluice::LimitUse, 2> uses{{
        {.limit = &requests_, .key = api_key, .cost = 1},
        {.limit = &tokens_, .key = api_key, .cost = estimated_tokens},
    }};
    std::array<sluice::LimitStatus, 2> statuses;
    const auto decision = limiter_.CheckAll(uses, statuses);
    if (!decision) {
      std::puts(decision.error().message.c_str());
      return false;
    }
    if (!decision->allowed) {
      // The tightest limit is the one with the longest wait.
      std::printf("denied by %s\n", uses[decision->index].limit->name.c_str());
      return false;
    }
    // A receipt says where units were taken from. It is valid for one refund or settlement.
    if (answer.failed) {
      (void)limiter_.Refund(requests_, api_key, statuses[0].receipt);
      (void)limiter_.Refund(tokens_, api_key, statuses[1].receipt);
    } else {
      (void)limiter_.Settle(tokens_, api_key, statuses[1].receipt, answer.tokens_used);
    }
    return true;
  }

  // "<requests left>/<tokens left>"
  std::string Left(std::string_view api_key) const {
    const auto left = [&](const sluice::NamedLimit& limit) {
      return std::to_string(limiter_.Peek(limit, api_key, 0)->tightest.remaining);
    };
    return left(requests_) + "/" + left(tokens_);
  }

 private:
  sluice::Limiter& limiter_;
  sluice::NamedLimit requests_;
  sluice::NamedLimit tokens_;
};

bool Expect(const char* what, const std::string& found, const std::string& expected) {
  const bool right = found == expected;
  std::printf("%-50s %s%s\n", what, found.c_str(), right ? "" : ("  expected " + expected).c_str());
  return right;
}

}  // namespace

int main() {
  auto limiter = sluice::Limiter::InMemory();
  const auto per_minute = [](std::int64_t limit) {
    return sluice::Limit::FixedWindow(
        {.limit = limit, .window = std::chrono::minutes(1), .anchor = sluice::Anchor::kFirstHit});
  };
  const auto requests = per_minute(5);
  const auto tokens = per_minute(10'000);
  if (!limiter || !requests || !tokens) return 1;
  ModelGate gate(*limiter, *requests, *tokens);

  bool right = Expect("requests/tokens left at first", gate.Left("k1"), "5/10000");
  gate.Call("k1", 2000, {.tokens_used = 1500});
  right &= Expect("estimated 2000, used 1500", gate.Left("k1"), "4/8500");
  gate.Call("k1", 2000, {.tokens_used = 2600});
  right &= Expect("estimated 2000, used 2600", gate.Left("k1"), "3/5900");
  gate.Call("k1", 5000, {.failed = true});
  right &= Expect("estimated 5000, failed: all is given back", gate.Left("k1"), "3/5900");
  const bool passed = gate.Call("k1", 6000, {.tokens_used = 6000});
  right &= Expect("estimated 6000, more than is left: takes nothing", gate.Left("k1"), "3/5900");
  return right && !passed ? 0 : 1;
}

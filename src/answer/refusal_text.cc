#include "answer/refusal_text.h"

#include "limiter/decision.h"

namespace sluice {

using limiter::CheckRequest;

std::string NeverFits(const CheckRequest& check, std::size_t use) {
  return "a cost of " + std::to_string(check.uses()[use].cost) + " never fits into a limit of " +
         std::to_string(limiter::CapOf(check, use));
}

NothingGranted WhyNothingGranted(const CheckRequest& check) {
  const match::Match& match = check.match();
  if (match.limits().empty()) {
    const std::string_view listed = match.listed() == match::Listed::kNo
                                        ? "no limit matches"
                                        : "the caller is on a list, so no limit matches";
    return {.met_limits = false, .why = std::string(listed) + ": nothing was granted"};
  }
  const match::MatchedLimit& matched = match.limits().front();
  const std::string_view reason =
      matched.limit->reject_all ? " rejects every call: nothing was granted"
                                : " limits concurrency, which has slots and nothing to spend: "
                                  "nothing was granted";
  return {.met_limits = true, .why = "rule " + matched.rule->id + std::string(reason)};
}

}  // namespace sluice

#include "answer/refusal_text.h"

namespace sluice {

using limiter::Question;

std::string NeverFits(const Question& question, std::size_t use) {
  return "a cost of " + std::to_string(question.uses()[use].cost) + " never fits into a limit of " +
         std::to_string(question.uses()[use].limit->cap());
}

NothingGranted WhyNothingGranted(const Question& question) {
  const rules::Match& match = question.match();
  if (match.limits().empty()) {
    const std::string_view listed = match.listed() == rules::Listed::kNo
                                        ? "no limit is met"
                                        : "the caller is on a list, so no limit is met";
    return {.met_limits = false, .why = std::string(listed) + ": nothing was granted"};
  }
  const rules::MetLimit& met = match.limits().front();
  const std::string_view reason =
      met.limit->reject_all ? " rejects every call: nothing was granted"
                            : " limits concurrency, which has slots and nothing to spend: "
                              "nothing was granted";
  return {.met_limits = true, .why = "rule " + met.rule->id + std::string(reason)};
}

}  // namespace sluice

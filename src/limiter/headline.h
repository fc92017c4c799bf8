#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <sluice/decision.h>

#include "limiter/question.h"
#include "rules/rule_set.h"
#include "store/store.h"

namespace sluice::limiter {

/// Puts an answered check or peek into the words that a caller should hear. Of a denial: the limit
/// with the longest wait. Else: the limit in which the fewest further calls like this one fit, and
/// of several such the one that takes longest to reset. Shadow limits are not spoken of; nor are
/// limits of rules that say `headers: false`, unless they deny or there are no others. `met` says
/// whose limits they are, or is empty.
Decision Headline(const store::Call& call, std::span<const rules::MetLimit> met = {});

/// Whether callers may hear of a use at any time: it is not in shadow, and its rule does not hide.
[[nodiscard]] bool MayBeTold(const Question& question, std::size_t use);

/// The use that an answer is about, or null if there is none: the call met no limit, or only such
/// as callers don't hear of. A rule that hides is named where it denies.
[[nodiscard]] const store::Use* SpokenOf(const Question& question);

/// The same for headers, where a rule that hides is not named even if it denies: then they are
/// about the tightest of the others.
[[nodiscard]] std::optional<std::size_t> ToldInHeaders(const Question& question);

}  // namespace sluice::limiter

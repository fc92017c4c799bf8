#pragma once

#include "rules/difference.h"
#include "rules/model.h"

namespace sluice::rules {

/// Returns the effect of replacing a limit by a different one: kTightens, kLoosens or kChanges.
[[nodiscard]] ChangeEffect EffectOf(const NamedLimit& before, const NamedLimit& after);

}  // namespace sluice::rules

#pragma once

#include <string>
#include <vector>

#include "envoy/config.h"
#include "rules/mistake.h"

namespace sluice::envoy {

struct OwnRules {
  std::string yaml;  ///< A rule file that `rules::Read` finds right.
  /// What our rules can't say, or say in another way; with the place in the original files.
  std::vector<rules::Mistake> remarks;
};

/// The same limits as a rule file of ours (docs/rules.md). The entries of a request's descriptor
/// are a call's attributes, and so is its `domain`.
///
/// A set of attributes has no order, and no name twice: descriptors that differ in that alone are
/// remarked on. Of the others, a call meets the rule of the descriptor that the request meets.
OwnRules WriteOwnRules(const Config& config);

}  // namespace sluice::envoy

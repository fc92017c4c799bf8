#pragma once

#include <string>
#include <vector>

#include "config_text/diagnostic.h"
#include "envoy/config.h"

namespace sluice::app {

struct OwnRules {
  std::string yaml;  ///< A rule file that `rules::Read` finds right.
  /// Differences: parts of the original that own rules lack or express differently, with positions
  /// in the original files.
  std::vector<config_text::Diagnostic> remarks;
};

/// The same limits as a rule file of ours (docs/rules.md). The entries of a request's descriptor
/// are a call's attributes, and so is its `domain`.
///
/// A set of attributes has no order, and no name twice: descriptors that differ in that alone are
/// remarked on. Of the others, a call matches the rule of the descriptor that the request matches.
OwnRules WriteOwnRules(const envoy::Config& config);

}  // namespace sluice::app

#pragma once

#include <string>
#include <vector>

#include "config_text/position.h"

namespace sluice::config_text {

/// An error or a warning about a configuration file.
struct Diagnostic {
  std::string file;
  Position position;    ///< Line 0: the whole file.
  std::string field;    ///< Path in the tree, such as "rules[2].params.capacity"; may be empty.
  std::string message;  ///< The problem and its correction.

  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

/// "rules.yaml:12:5: rules[2].params.refil_rate: unknown field; did you mean `refill_rate`?"
std::string Describe(const Diagnostic& diagnostic);
std::vector<std::string> DescribeAll(const std::vector<Diagnostic>& diagnostics);

}  // namespace sluice::config_text

#pragma once

#include <string>

namespace sluice::app {

struct ConvertLogOptions {
  std::string log = "-";  ///< "-": standard input.
};

/// Prints an access log as a trace for `sluice simulate`. Returns the exit code.
int ConvertLog(const ConvertLogOptions& options);

}  // namespace sluice::app

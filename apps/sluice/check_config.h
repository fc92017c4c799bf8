#pragma once

#include <string>
#include <vector>

namespace sluice::app {

struct CheckConfigOptions {
  std::vector<std::string> files;
  bool json = false;
};

/// Reads rule files and prints everything that is wrong with them. Returns the exit code: 1 if
/// something is.
int CheckConfig(const CheckConfigOptions& options);

}  // namespace sluice::app

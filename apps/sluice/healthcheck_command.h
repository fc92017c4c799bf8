#pragma once

#include <chrono>
#include <string>

#include <sluice/result.h>
#include <sluice/time.h>

#include "remote.h"
#include "settings/config.h"

namespace sluice::app {

struct HealthcheckOptions {
  RemoteOptions remote{.server = ""};  ///< No server: the listener of the settings.
  std::string config{};                ///< A file with settings; empty: SLUICE_CONFIG, or none.
  bool live = false;  ///< Ask whether the process responds, not whether it is ready.
  Micros timeout = std::chrono::seconds(2);  ///< Of connecting, and of the response.
};

/// Returns the URL of the listener that a probe on the same machine uses: the first address of
/// `admin.listen`, or of `http.listen`. Fails with kInvalidOptions if both have none.
[[nodiscard]] Result<std::string> ProbeUrl(const settings::Config& config);

/// Asks a server for its health, prints it, and returns the exit code: 0 if it is ready (or live),
/// else 1.
int Healthcheck(const HealthcheckOptions& options);

}  // namespace sluice::app

#pragma once

#include <CLI/CLI.hpp>

#include "remote.h"

namespace sluice::app {

/// Adds the flags of a command that talks to a server: its address, a token, certificates, --json.
void AddRemote(CLI::App& command, RemoteOptions& options);

}  // namespace sluice::app

#pragma once

#include <optional>

#include <CLI/CLI.hpp>

#include <sluice/time.h>

#include "remote.h"

namespace sluice::app {

/// Adds the flags of a command that talks to a running server: --server, --token-file, … --json.
void AddRemote(CLI::App& command, RemoteOptions& options);

/// Adds --wait TIME.
void AddWait(CLI::App& command, std::optional<Micros>& wait);

}  // namespace sluice::app

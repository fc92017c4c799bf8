#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <sluice/time.h>

#include "remote.h"

namespace sluice::app {

/// Adds the flags of a command that talks to a running server: --server, --token-file, … --json.
void AddRemote(CLI::App& command, RemoteOptions& options);

/// Adds those of them that are about TLS: --ca-file, --cert, --key.
void AddTlsFiles(CLI::App& command, RemoteOptions& options);

/// Adds the attributes of a caller: NAME=VALUE, once or more.
CLI::Option* AddAttributes(CLI::App& command,
                           std::vector<std::pair<std::string, std::string>>& attributes);

/// Adds --wait TIME.
void AddWait(CLI::App& command, std::optional<Micros>& wait);

}  // namespace sluice::app

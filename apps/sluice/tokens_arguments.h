#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "tokens_command.h"

namespace sluice::app {

/// Adds the command `tokens` with its sub-commands. `action` gets the one to run.
void AddTokens(CLI::App& app, std::function<int()>& action, TokensOptions& options);

}  // namespace sluice::app

#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "keys_command.h"

namespace sluice::app {

/// Adds the commands `key`, `grant` and `reset`. `action` gets the one to run.
void AddKeys(CLI::App& app, std::function<int()>& action, KeysOptions& options);

}  // namespace sluice::app

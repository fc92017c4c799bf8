#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "rules_command.h"

namespace sluice::app {

/// Adds the command `rules` and its own commands. `action` gets the one to run.
void AddRules(CLI::App& app, std::function<int()>& action, RulesOptions& options);

}  // namespace sluice::app

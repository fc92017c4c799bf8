#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "entries_command.h"

namespace sluice::app {

/// Adds the commands `entries`, `block` and `unblock`. `action` gets the one to run.
void AddEntries(CLI::App& app, std::function<int()>& action, EntriesOptions& options);

}  // namespace sluice::app

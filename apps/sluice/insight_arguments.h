#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "insight_command.h"

namespace sluice::app {

/// Adds the commands `top`, `tail` and `why`. `action` gets the one to run.
void AddTop(CLI::App& app, std::function<int()>& action, TopOptions& options);
void AddTail(CLI::App& app, std::function<int()>& action, TailOptions& options);
void AddWhy(CLI::App& app, std::function<int()>& action, WhyOptions& options);

}  // namespace sluice::app

#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace sluice::app {

/// Returns a script for bash that completes the commands and options of `app`.
[[nodiscard]] std::string BashCompletion(const CLI::App& app);

/// Returns the manual page of `app`, sluice(1), as input for man.
[[nodiscard]] std::string ManualPage(const CLI::App& app);

}  // namespace sluice::app

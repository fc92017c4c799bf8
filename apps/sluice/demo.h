#pragma once

namespace sluice::app {

/// Plays a few calls to each algorithm, on a clock of its own, and prints the answers: the same
/// every time. Returns the exit code.
int Demo();

}  // namespace sluice::app

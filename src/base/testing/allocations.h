#pragma once

#include <cstddef>

namespace sluice {

/// Returns the number of allocations of this program so far. A program that links this gets an
/// `operator new` that counts; with sanitizers it stays 0. Not thread-safe.
std::size_t Allocations();

}  // namespace sluice

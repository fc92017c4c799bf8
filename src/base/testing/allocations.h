#pragma once

#include <cstddef>

namespace sluice {

/// How often this program has asked for memory so far. Whoever links this gets an `operator new`
/// that counts. Not thread-safe.
std::size_t Allocations();

}  // namespace sluice

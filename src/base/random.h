#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

/// Fills `out` with cryptographically secure random bytes from the operating system.
void FillRandom(std::span<std::byte> out);

/// Returns an unpredictable random number that is not zero.
std::uint64_t RandomId();

}  // namespace sluice

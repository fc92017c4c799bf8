#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sluice {

/// Fills `out` with cryptographically secure random bytes from the operating system.
void FillRandom(std::span<std::byte> out);

/// Returns so many random bytes for a secret.
[[nodiscard]] std::string RandomBytes(std::size_t count);

/// Returns an unpredictable random number that is not zero.
std::uint64_t RandomId();

}  // namespace sluice

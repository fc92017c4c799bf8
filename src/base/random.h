#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

/// Fills `out` with random bytes from the operating system: good enough for secrets.
void FillRandom(std::span<std::byte> out);

/// A random number that is not zero and that nobody can guess.
std::uint64_t RandomId();

}  // namespace sluice

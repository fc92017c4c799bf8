#pragma once

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace sluice {

/// Returns the seed of a random test: SLUICE_TEST_SEED, or a new one if that is not set. Prints it,
/// so that a failure can be repeated.
inline unsigned TestSeed() {
  const char* const text = std::getenv("SLUICE_TEST_SEED");
  const unsigned seed =
      text == nullptr ? std::random_device{}() : static_cast<unsigned>(std::stoul(text));
  std::printf("SLUICE_TEST_SEED=%u\n", seed);
  return seed;
}

}  // namespace sluice

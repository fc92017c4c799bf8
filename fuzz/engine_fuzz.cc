// Bytes become calls of all kinds, which the memory store and the model must answer alike.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "algo/testing/choices.h"
#include "store/memory/testing/memory_driver.h"
#include "store/testing/random_run.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::store::testing;
  sluice::algo::testing::ByteChoices choices(std::span(data, size));
  // As many keys as a run uses: new keys may only take the place of what holds no information.
  MemoryDriver driver({.max_keys = 4, .keep_names = choices.OneIn(4)});
  const auto difference = RunAgainstModel(driver, choices, {.steps = 500, .scope = "fuzz"});
  if (difference) {
    std::fputs(difference->c_str(), stderr);
    std::abort();
  }
  return 0;
}

#pragma once

#include <optional>
#include <string>

#include "algo/testing/choices.h"
#include "store/testing/driver.h"
#include "store/testing/questions.h"

namespace sluice::store::testing {

struct RunOptions {
  int steps = 100;
  /// Part of the run's keys: a run starts with keys that the store has never seen.
  std::string scope;
  QuestionKind kind = QuestionKind::kAny;
  /// Calls may fail with kStoreFull, and then change nothing; the clock goes forward.
  bool may_be_full = false;
};

/// Lets the store and the model answer the same arbitrary operations (all kinds, over few keys
/// whose limits change, at arbitrary times) until `choices` are exhausted or enough steps are done.
/// Nothing if they always agreed; else what differed, and the operations that led there.
std::optional<std::string> RunAgainstModel(Driver& driver, algo::testing::Choices& choices,
                                           const RunOptions& options);

/// The same of a store that gets its calls in batches and one that gets them one by one, while the
/// clock goes forward.
std::optional<std::string> RunBatchesAgainstSingles(Driver& batches, Driver& singles,
                                                    algo::testing::Choices& choices,
                                                    const RunOptions& options);

}  // namespace sluice::store::testing

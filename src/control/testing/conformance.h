#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/control_store.h"
#include "control/record_table.h"

namespace sluice::control::testing {

/// An empty store and its clients.
class ControlStores {
 public:
  static constexpr std::size_t kClients = 3;

  virtual ~ControlStores() = default;

  /// A client of the store; several indexes may be one object. Valid until Reopen.
  virtual ControlStore& client(std::size_t index) = 0;
  /// Closes all clients and opens them again.
  virtual void Reopen() = 0;
};

/// One sentence about every control store, and the proof. As store::testing::ConformanceCase.
struct ConformanceCase {
  const char* name;
  void (*run)(ControlStores& stores);

  friend void PrintTo(const ConformanceCase& c, std::ostream* out) { *out << c.name; }
};

/// The behavior of every control store. Each case needs an empty one.
std::span<const ConformanceCase> ConformanceCases();

/// Those of records, which ConformanceCases includes.
std::span<const ConformanceCase> RecordConformanceCases();

/// Names the tests that are made of the cases.
// NOLINTNEXTLINE(readability-identifier-naming): a function in all but form, for GoogleTest's sake.
inline constexpr auto NameOfCase = [](const auto& info) { return std::string(info.param.name); };

/// Returns the version that follows `current` in its epoch; 1.1 if there is none.
[[nodiscard]] Version NextVersion(const std::optional<VersionRef>& current, std::string text);
/// Commits a text in place of whatever is current; fails the test if that fails.
VersionRef CommitText(ControlStore& store, const std::string& text);
/// Reads all records of a store; fails the test if that fails.
[[nodiscard]] RecordTable ReadRecordTable(ControlStore& store);
/// Returns the problem of a store's history, or "": the current version is the newest of the list,
/// numbers ascend, all texts match their hashes, and the audit log is one unbroken chain.
[[nodiscard]] std::string FindHistoryProblem(ControlStore& store);

}  // namespace sluice::control::testing

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <sluice/result.h>

namespace sluice::control {
class ControlStore;
class EntryService;
class RecordService;
class RuleService;
}  // namespace sluice::control
namespace sluice::simulate {
class TrafficSampler;
}  // namespace sluice::simulate

namespace sluice::api {

/// The parts of the server that tasks use, on worker threads. All are thread-safe.
struct ControlServices {
  /// With rules from a file, for nodes and the audit log only.
  control::RuleService& rules;
  control::RecordService& records;
  control::ControlStore& store;  ///< For reports of nodes.
  control::EntryService& entries;
  const simulate::TrafficSampler* traffic;  ///< Null: calls are not sampled.
  /// Reads the text of the rule file; empty: the rules come from a store.
  std::function<Result<std::string>()> read_rule_file{};
};

/// Each kind of task has threads of its own: a task that waits holds up no other kind.
enum class TaskKind : std::uint8_t {
  kRead,
  kEvaluate,  ///< Dry runs and comparisons of rules, which may take seconds.
  kChange,    ///< Of the rules: never behind those.
  kRestore,   ///< Of an earlier version: never behind a change, either.
  kRecords,   ///< Writing of records.
  kWait,      ///< For nodes to apply a version.
};

/// Runs requests that need the control store on worker threads. One object for each event
/// loop, used on that loop's thread only.
class RuleTasks {
 public:
  virtual ~RuleTasks() = default;

  /// Runs `task` on a worker thread, then `done` in a later turn of this loop. If too many tasks of
  /// its kind wait, only `done` runs, with `ran` false. Neither runs if the server stops first.
  virtual void Run(TaskKind kind, std::function<void(ControlServices& services)> task,
                   std::function<void(bool ran)> done) = 0;
};

}  // namespace sluice::api

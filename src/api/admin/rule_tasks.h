#pragma once

#include <cstdint>
#include <functional>

namespace sluice::control {
class RuleService;
}  // namespace sluice::control
namespace sluice::simulate {
class TrafficSampler;
}  // namespace sluice::simulate

namespace sluice::api {

/// The parts of the server that tasks use, on worker threads. All are thread-safe.
struct ControlServices {
  control::RuleService& rules;
  const simulate::TrafficSampler* traffic;  ///< Null: calls are not sampled.
};

/// Each kind of task has threads of its own: a task that waits holds up no other kind.
enum class TaskKind : std::uint8_t {
  kRead,
  kChange,
  kWait,  ///< For nodes to apply a version.
};

/// Runs requests that need the store of the rules on worker threads. One object for each event
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

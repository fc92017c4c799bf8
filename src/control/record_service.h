#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>

#include "control/control_store.h"
#include "control/record.h"
#include "control/version.h"

namespace sluice::control {

class Follower;

/// The audit record of a change, but for its time and node.
struct RecordAudit {
  Origin origin{};
  std::string action{};   ///< "<kind>.<verb>", such as "entry.put".
  std::string target{};   ///< Such as the id.
  std::string message{};  ///< The author's reason; may be empty.
};

struct RecordChangeResult {
  RecordWriteResult written{};
  bool applied = false;  ///< This node uses the change already.
};

/// Records for requests that read and change them. Thread-safe; functions may block, for a bounded
/// time.
class RecordService {
 public:
  virtual ~RecordService() = default;

  /// Returns a record as this node has it; nothing: there is none, or it has expired.
  [[nodiscard]] virtual std::optional<Record> Find(RecordKind kind, std::string_view id) = 0;
  /// Lists at most `limit` records of a kind after this id ("": from the first), in the order of
  /// their ids, as this node has them. The filter may be empty.
  [[nodiscard]] virtual std::vector<Record> List(
      RecordKind kind, std::string_view after, std::size_t limit,
      const std::function<bool(const Record&)>& filter) = 0;
  /// Writes all of these records or none (ControlStore::WriteRecords), and waits a moment until
  /// this node uses them.
  virtual Result<RecordChangeResult> Write(std::span<const RecordWrite> writes,
                                           const RecordAudit& audit) = 0;
};

/// The records of a node that follows its store.
class NodeRecordService final : public RecordService {
 public:
  /// The longest wait for this node to use a change.
  static constexpr Micros kApplyTimeout = std::chrono::seconds(2);

  /// `store` and `follower` must outlive it. `node` is for the audit log.
  NodeRecordService(ControlStore& store, Follower& follower, std::string node)
      : store_(store), follower_(follower), node_(std::move(node)) {}

  [[nodiscard]] std::optional<Record> Find(RecordKind kind, std::string_view id) override;
  [[nodiscard]] std::vector<Record> List(RecordKind kind, std::string_view after, std::size_t limit,
                                         const std::function<bool(const Record&)>& filter) override;
  Result<RecordChangeResult> Write(std::span<const RecordWrite> writes,
                                   const RecordAudit& audit) override;

 private:
  ControlStore& store_;
  Follower& follower_;
  const std::string node_;
};

}  // namespace sluice::control

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/time.h>

#include "base/live.h"
#include "control/record.h"
#include "control/record_service.h"
#include "match/entry_set.h"

namespace sluice::control {

/// A change of live entries: all of it or nothing.
struct EntryChange {
  std::vector<match::Entry> put{};
  std::vector<std::string> remove{};
  bool dry_run = false;  ///< Checks everything, writes nothing.
  /// Of a change of one entry: the sequence number that its record must have now; 0: there must be
  /// none. Not set: any.
  std::optional<std::uint64_t> expected{};
  RecordAudit audit{};
};

enum class EntryOutcome : std::uint8_t {
  kDone,
  kNotFound,  ///< There is no entry to remove; `message` is its id.
  kConflict,  ///< The record is not the expected one.
  kTooMany,   ///< `message` says of what.
  kFailed,    ///< The control store could not be written: `message`.
};

struct EntryChangeResult {
  EntryOutcome outcome = EntryOutcome::kDone;
  std::string message{};
  std::size_t created = 0;
  std::size_t replaced = 0;
  std::size_t removed = 0;
  std::uint64_t first_sequence = 0;  ///< Of the records that were written.
  RecordCursor cursor{};             ///< Nodes that have it have the change.
  std::optional<bool> replicated{};  ///< Whether a replica has it; not set: there is none.
};

enum class EntryOrigin : std::uint8_t { kOperator, kPenalty };

struct EntryQuery {
  std::optional<EntryOrigin> origin{};
  std::optional<match::EntryEffect> effect{};
  std::string match{};           ///< "name=value", or a part of a value; empty: all.
  bool parts_of_values = false;  ///< Whether a part of a value may be asked for.
  std::string after{};           ///< An id; empty: from the first.
  std::size_t limit = 100;
};

struct EntryPage {
  std::vector<std::shared_ptr<const match::LiveEntry>> entries{};
  std::string next{};  ///< For `after`; empty: there are no more.
};

/// The kind of record that an entry is stored as.
[[nodiscard]] RecordKind RecordKindOf(std::string_view entry_id);

struct EntryServiceHooks {
  std::function<WallTime()> now{};  ///< Required.
  /// Called for a record that this build can't read. May be empty.
  std::function<void(const std::string& id, const std::string& error)> on_unreadable{};
};

/// The live entries of a node: follows their records, publishes snapshots for the request path, and
/// checks changes. Thread-safe; a change waits for the control store.
class EntryService {
 public:
  /// `live` must outlive this.
  EntryService(Live<match::EntrySet>& live, EntryServiceHooks hooks);

  /// Takes entries and penalties that changed; other kinds are ignored. `complete`: these are all.
  void Apply(std::span<const Record> records, bool complete);

  [[nodiscard]] std::shared_ptr<const match::LiveEntry> Find(std::string_view id) const;
  /// Lists entries in the order of their ids, without those that have expired.
  [[nodiscard]] EntryPage List(const EntryQuery& query) const;
  [[nodiscard]] match::EntryCounts Counts() const;
  /// Returns the entries in force.
  [[nodiscard]] std::shared_ptr<const match::EntrySet> Current() const;
  /// Returns the entries as they would be after a change, for its impact.
  [[nodiscard]] std::shared_ptr<const match::EntrySet> Preview(const EntryChange& change) const;

  /// Returns the penalty with this id, also after its end, until it is forgotten.
  [[nodiscard]] std::shared_ptr<const match::LiveEntry> FindPenalty(std::string_view id) const;
  /// See match::EntryTable::TakesPenalty.
  [[nodiscard]] bool TakesPenalty(const match::Entry& penalty) const;
  /// Returns the ids of penalties that end first, at most so many.
  [[nodiscard]] std::vector<std::string> FirstPenaltiesToEnd(std::size_t count) const;

  [[nodiscard]] EntryChangeResult Change(RecordService& records, const EntryChange& change) const;

 private:
  [[nodiscard]] EntryChangeResult Check(const EntryChange& change) const;

  Live<match::EntrySet>& live_;
  const EntryServiceHooks hooks_;
  mutable std::mutex mutex_;
  match::EntryTable table_;  ///< Guarded by mutex_.
};

}  // namespace sluice::control

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

#include <sluice/result.h>
#include <sluice/time.h>

#include "base/live.h"
#include "control/control_store.h"
#include "control/record.h"
#include "match/entry_set.h"

namespace sluice::control {

/// A change of live entries: all of it or nothing.
struct EntryChange {
  std::vector<match::Entry> put{};
  std::vector<std::string> remove{};
  bool dry_run = false;  ///< Checks everything, writes nothing.
  AuditEvent event{};    ///< For the audit log.
};

enum class EntryOutcome : std::uint8_t {
  kDone,
  kNotFound,  ///< There is no entry to remove; `message` is its id.
  kTooMany,   ///< `message` says of what.
  kFailed,    ///< The control store could not be written: `message`.
};

struct EntryChangeResult {
  EntryOutcome outcome = EntryOutcome::kDone;
  std::string message{};
  std::size_t created = 0;
  std::size_t replaced = 0;
  std::size_t removed = 0;
  RecordCursor cursor{};             ///< From there on, nodes have the change.
  std::optional<bool> replicated{};  ///< Whether a replica has it; not set: there is none.
};

struct EntryQuery {
  std::optional<match::EntryEffect> effect{};
  std::string match{};  ///< "name=value", or a part of a value; empty: all.
  std::string after{};  ///< An id; empty: from the first.
  std::size_t limit = 100;
};

struct EntryPage {
  std::vector<std::shared_ptr<const match::LiveEntry>> entries{};
  std::string next{};  ///< For `after`; empty: there are no more.
};

struct EntryServiceHooks {
  /// Waits until this node has a change, for a bounded time. May be empty.
  std::function<void(const RecordCursor&)> await_change{};
  /// Called for a record that this build can't read. May be empty.
  std::function<void(const std::string& id, const std::string& error)> on_unreadable{};
  std::function<WallTime()> now{};  ///< Required.
};

/// The live entries of a node: follows the records of the control store, publishes snapshots for
/// the request path, and changes entries for the whole fleet. Thread-safe; changes wait for the
/// store.
class EntryService {
 public:
  /// Both must outlive this.
  EntryService(ControlStore& store, Live<match::EntrySet>& live, EntryServiceHooks hooks);

  /// Takes records of the store that changed; other kinds are ignored. `complete`: these are all.
  void Apply(std::span<const Record> records, bool complete);

  [[nodiscard]] std::shared_ptr<const match::LiveEntry> Find(std::string_view id) const;
  /// Lists entries in the order of their ids, without those that have expired.
  [[nodiscard]] EntryPage List(const EntryQuery& query) const;
  [[nodiscard]] match::EntryCounts Counts() const;
  /// Returns the entries as they would be after a change, for its impact.
  [[nodiscard]] std::shared_ptr<const match::EntrySet> Preview(const EntryChange& change) const;

  [[nodiscard]] EntryChangeResult Change(const EntryChange& change);

 private:
  [[nodiscard]] EntryChangeResult Check(const EntryChange& change) const;

  ControlStore& store_;
  Live<match::EntrySet>& live_;
  const EntryServiceHooks hooks_;
  mutable std::mutex mutex_;
  match::EntryTable table_;  ///< Guarded by mutex_.
};

}  // namespace sluice::control

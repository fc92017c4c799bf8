#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/time.h>

#include "answer/problem.h"
#include "api/admin/rule_tasks.h"
#include "api/server_services.h"
#include "base/live.h"
#include "control/entry_service.h"
#include "control/version.h"
#include "identity/identifier.h"
#include "identity/principal.h"
#include "match/entry_text.h"
#include "match/rule_set.h"

/// Changes of live entries, the same for every protocol.
namespace sluice::api {

/// The parts of a request that a change needs on a worker thread.
struct EntryContext {
  identity::Principal principal{};
  control::Origin origin{};
  WallTime now{};
  std::shared_ptr<const identity::Identifier> identifier{};
  std::shared_ptr<const match::RuleSet> rules{};  ///< Null: there are none yet.

  /// For reading the entries of the request.
  [[nodiscard]] match::EntryDefaults Defaults() const;
};
[[nodiscard]] EntryContext MakeEntryContext(ServerServices& services,
                                            const identity::Principal& principal,
                                            control::Origin origin);

/// The changed entries, and the kind of change.
struct EntryChangeRequest {
  std::vector<match::Entry> put{};
  std::vector<std::string> remove{};
  bool is_batch = false;  ///< Fields of errors begin with "entries[3]".
  bool dry_run = false;
  /// Of a change of one entry: the headers If-Match and If-None-Match; not set: there is none.
  std::optional<std::string> if_match{};
  std::optional<std::string> if_none_match{};
};

struct EntryChangeReply {
  std::optional<Problem> problem{};  ///< Set: nothing was changed.
  control::EntryChangeResult result{};
};

/// Returns the entity tag of an entry; empty: there is no such entry.
[[nodiscard]] std::string TagOfEntry(ControlServices& services, const std::string& id);

/// Checks a change against the principal's role and scope and the rules, and makes it.
[[nodiscard]] EntryChangeReply ChangeEntries(ControlServices& services, const EntryContext& context,
                                             const EntryChangeRequest& request);

/// The problem of an entry that can't be read.
[[nodiscard]] Problem ProblemOf(const match::EntryError& error);

}  // namespace sluice::api

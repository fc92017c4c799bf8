#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/time.h>

#include "config_text/diagnostic.h"
#include "control/propagation.h"
#include "control/version.h"
#include "rules/difference.h"
#include "rules/document_edit.h"

namespace sluice::simulate {
struct Impact;
}  // namespace sluice::simulate

/// Requests to change the rules, and their results.
namespace sluice::control {

enum class ChangeKind : std::uint8_t {
  kPutDocument,  ///< Replaces the whole document by `text`.
  kPutRule,      ///< Replaces or adds the rule `target`.
  kDeleteRule,
  kPutTier,  ///< Replaces or adds the tier `target`.
  kDeleteTier,
  kRestore,  ///< Makes the text of the version `restore` the current one.
};

struct ChangeRequest {
  ChangeKind kind = ChangeKind::kPutDocument;
  std::string target{};  ///< A rule's id, or a tier's name.
  std::string text{};
  rules::TextFormat format = rules::TextFormat::kYaml;  ///< Of `text`.
  VersionId restore{};
  /// The entity tags of which one must be the current one, as in the header If-Match; "*": any.
  /// Required, except for kRestore, in a dry run, and while the store is empty.
  std::optional<std::string> if_match{};
  std::string message{};
  std::string idempotency_key{};  ///< Empty: none.
  /// Validates, compares and evaluates the impact; stores nothing. Other outcomes than kValid are
  /// those that the commit would have, except that no message is required.
  bool dry_run = false;
  /// Commits although it rejects everything or exceeds the guard; needs a message.
  bool force = false;
  bool allow_reject_all = false;  ///< Commits although it rejects everything.
  std::optional<Micros> wait{};   ///< Waits so long for all live nodes to apply it.
  Origin origin{};
};

/// The effect of a change on sampled traffic.
struct ChangeImpact {
  /// Newly denied calls among those replayed, 0 to 1. Not set: there is no impact.
  std::optional<double> newly_denied_ratio{};
  std::string unavailable_reason{};  ///< Why there is none; empty if there is one.
  std::shared_ptr<const simulate::Impact> details{};
};

enum class ChangeOutcome : std::uint8_t {
  kCommitted,
  kRepeated,   ///< A request with this idempotency key was committed before: `version` is its
               ///< result.
  kUnchanged,  ///< The text is that of the current version, which stays.
  kValid,      ///< Dry run: it could be committed now.

  // Nothing was stored:
  kBadRequest,            ///< A field of the request is wrong: see `field`.
  kTooLarge,              ///< The document is larger than kMaxDocumentBytes.
  kPreconditionRequired,  ///< `if_match` is missing.
  kPreconditionFailed,    ///< Another version is current: `current` and `difference`.
  kNotFound,              ///< No such rule, tier or version.
  kInvalid,               ///< See `errors`.
  kMessageRequired,
  kRejectsAll,           ///< It would reject every call, and the request does not confirm that.
  kGuardExceeded,        ///< It denies more calls than the guard allows: `impact`.
  kIdempotencyConflict,  ///< The key was used for another request.
  kBusy,                 ///< Another change is being evaluated.
  kStoreFailed,          ///< The store could not be read or written.
};

/// "committed", "repeated", …
[[nodiscard]] std::string_view NameOf(ChangeOutcome outcome);

/// The result of a request. Fields that the outcome has no use for are empty.
struct ChangeResult {
  ChangeOutcome outcome = ChangeOutcome::kStoreFailed;
  std::string message{};             ///< For people: the reason of a failure, and its correction.
  std::string field{};               ///< The field of the request that is at fault; may be empty.
  VersionInfo version{};             ///< The version that was committed, or that it was before.
  VersionRef current{};              ///< The store's afterwards; number 0: none, or not known.
  bool created = false;              ///< The rule or tier is new.
  std::optional<bool> replicated{};  ///< See CommitResult.
  std::vector<config_text::Diagnostic> errors{};
  std::vector<config_text::Diagnostic> warnings{};
  /// From the current version to the requested one. With kPreconditionFailed: from the version that
  /// the request names to the current one, or, if that is not kept, from the current one to the
  /// requested one.
  std::vector<rules::DifferenceRow> difference{};
  std::string difference_from{};  ///< A version, as "1.3"; empty: no version.
  std::string difference_to{};    ///< A version; empty: the requested document.
  std::optional<ChangeImpact> impact{};
  std::string text{};  ///< The requested document, as far as it could be made: errors refer to it.
  std::optional<Propagation> propagation{};

  /// Whether the request succeeded.
  [[nodiscard]] bool ok() const { return outcome <= ChangeOutcome::kValid; }
};

}  // namespace sluice::control

#pragma once

#include <optional>
#include <string>

#include <sluice/time.h>

#include "control/change.h"
#include "control/control_store.h"
#include "control/rule_service_options.h"
#include "control/version.h"
#include "rules/model.h"

namespace sluice::control {

/// The name of the document in errors.
inline constexpr const char* kDocumentName = "rules";

/// A change that is being evaluated.
struct ChangeDraft {
  std::string text{};      ///< The whole document.
  rules::RuleFile file{};  ///< Of `text`.
  VersionId restores{};
  ChangeResult result{};  ///< If nothing refuses the change.
};

[[nodiscard]] ChangeResult FailedChange(ChangeOutcome outcome, std::string message,
                                        std::string field = {});
[[nodiscard]] ChangeResult FailedStore(const Error& error);

/// Makes the document that a request asks for, validates it, and decides whether it may be
/// committed. Functions return the refusal, or nothing. For one thread at a time: large documents
/// take seconds.
class ChangeEvaluator {
 public:
  /// All must outlive it.
  ChangeEvaluator(ControlStore& store, const RuleServiceOptions& options,
                  const RuleServiceHooks& hooks)
      : store_(store), options_(options), hooks_(hooks) {}

  /// Makes the text of the document. `current` is set unless the whole document is requested.
  std::optional<ChangeResult> MakeText(const ChangeRequest& request,
                                       const std::optional<Version>& current, ChangeDraft& draft);
  /// Makes the text, validates it, compares it with the current version and evaluates its impact.
  std::optional<ChangeResult> Evaluate(const ChangeRequest& request,
                                       const std::optional<Version>& current, ChangeDraft& draft);

 private:
  /// Fills in `from` of rollouts with the numbers of `before`, which are in force at `now`.
  static std::optional<ChangeResult> FillInNumbers(const rules::RuleFile& before, WallTime now,
                                                   ChangeDraft& draft);
  void EvaluateImpact(rules::RuleFile before, ChangeDraft& draft);

  ControlStore& store_;
  const RuleServiceOptions& options_;
  const RuleServiceHooks& hooks_;
};

}  // namespace sluice::control

#include "control/change_evaluator.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "config_text/json_yaml.h"
#include "control/node.h"
#include "match/rule_set.h"
#include "rules/document_edit.h"
#include "rules/reader.h"
#include "rules/rejects_all.h"
#include "rules/rollout_text.h"
#include "rules/schedule_reader.h"

namespace sluice::control {
namespace {

ChangeResult InvalidText(std::string message, config_text::Position position,
                         std::string field = {}) {
  ChangeResult result = FailedChange(ChangeOutcome::kInvalid, "the rules have errors");
  result.errors.push_back({kDocumentName, position, std::move(field), std::move(message)});
  return result;
}

ChangeResult Unchanged(const Version& current) {
  return {.outcome = ChangeOutcome::kUnchanged, .version = current.info};
}

}  // namespace

ChangeResult FailedChange(ChangeOutcome outcome, std::string message, std::string field) {
  return {.outcome = outcome, .message = std::move(message), .field = std::move(field)};
}

ChangeResult FailedStore(const Error& error) {
  return FailedChange(ChangeOutcome::kStoreFailed, error.message);
}

std::optional<ChangeResult> ChangeEvaluator::MakeText(const ChangeRequest& request,
                                                      const std::optional<Version>& current,
                                                      ChangeDraft& draft) {
  rules::EditResult edit;
  switch (request.kind) {
    case ChangeKind::kPutDocument: {
      if (request.format == rules::TextFormat::kYaml) {
        draft.text = request.text;
        return std::nullopt;
      }
      auto converted = config_text::JsonAsYaml(request.text);
      if (auto* error = std::get_if<config_text::YamlError>(&converted)) {
        return InvalidText(std::move(error->message), error->position);
      }
      draft.text = std::get<std::string>(std::move(converted));
      return std::nullopt;
    }
    case ChangeKind::kRestore: {
      auto version = store_.ReadVersion(request.restore);
      if (!version) return FailedStore(version.error());
      if (!*version) {
        return FailedChange(ChangeOutcome::kNotFound,
                            "the version " + ToText(request.restore) + " is not kept", "restore");
      }
      draft.text = std::move((*version)->text);
      draft.restores = (*version)->info.ref.id;
      return std::nullopt;
    }
    case ChangeKind::kPutRule:
      edit = rules::PutRule(current->text, request.target, request.text, request.format);
      break;
    case ChangeKind::kDeleteRule:
      edit = rules::RemoveRule(current->text, request.target);
      break;
    case ChangeKind::kPutTier:
      edit = rules::PutTier(current->text, request.target, request.text, request.format);
      break;
    case ChangeKind::kDeleteTier:
      edit = rules::RemoveTier(current->text, request.target);
      break;
  }
  switch (edit.failure) {
    case rules::EditFailure::kNone:
      break;
    case rules::EditFailure::kNotFound:
      return FailedChange(ChangeOutcome::kNotFound, std::move(edit.error), "target");
    case rules::EditFailure::kInvalidItem:
    case rules::EditFailure::kNotEditable:
      return InvalidText(std::move(edit.error), {edit.line, edit.column}, request.target);
  }
  draft.text = std::move(edit.text);
  draft.result.created = edit.created;
  return std::nullopt;
}

std::optional<ChangeResult> ChangeEvaluator::Evaluate(const ChangeRequest& request,
                                                      const std::optional<Version>& current,
                                                      ChangeDraft& draft) {
  const bool is_restore = request.kind == ChangeKind::kRestore;
  if (auto refused = MakeText(request, current, draft)) return refused;
  if (draft.text.size() > kMaxDocumentBytes) {
    draft.text.clear();
    return FailedChange(ChangeOutcome::kTooLarge, "the document would have more than " +
                                                      std::to_string(kMaxDocumentBytes) + " bytes");
  }
  const auto is_unchanged = [&] { return current && draft.text == current->text && !is_restore; };
  if (is_unchanged()) return Unchanged(*current);
  const auto now = store_.Now();
  if (!now) return FailedStore(now.error());
  rules::ReadResult read = rules::Read(kDocumentName, draft.text);
  draft.result.warnings = std::move(read.warnings);
  if (!read.file) {
    ChangeResult result = FailedChange(ChangeOutcome::kInvalid, "the rules have errors");
    result.errors = std::move(read.errors);
    result.warnings = std::move(draft.result.warnings);
    return result;
  }
  draft.file = *std::move(read.file);
  rules::ReadResult before =
      current ? rules::Read(kDocumentName, current->text) : rules::ReadResult{};
  if (before.file && !is_restore) {
    if (auto refused = FillInNumbers(*before.file, *now, draft)) return refused;
    if (is_unchanged()) return Unchanged(*current);
  }
  auto expired = rules::WarnOfExpired(draft.file, *now);
  std::move(expired.begin(), expired.end(), std::back_inserter(draft.result.warnings));
  draft.result.difference =
      rules::Compare(before.file ? *before.file : rules::RuleFile{}, draft.file);
  if (current) draft.result.difference_from = ToText(current->info.ref.id);
  const auto refuse = [&](ChangeOutcome outcome, std::string message) {
    ChangeResult result = std::move(draft.result);
    result.outcome = outcome;
    result.message = std::move(message);
    return result;
  };
  const bool is_guarded = !is_restore && !request.force;
  const auto reject_all = is_guarded && !request.allow_reject_all
                              ? rules::FindRejectAll(draft.file, *now)
                              : std::optional<std::string>();
  if (!is_restore || request.dry_run) {
    if (!before.file) {
      draft.result.impact =
          ChangeImpact{.unavailable_reason = "there are no rules to compare with"};
    } else {
      EvaluateImpact(*std::move(before.file), draft);
    }
  }
  if (reject_all) {
    return refuse(ChangeOutcome::kRejectsAll,
                  "would reject every call: " + *reject_all + "; confirm that it is meant");
  }
  const auto ratio =
      draft.result.impact ? draft.result.impact->newly_denied_ratio : std::optional<double>();
  if (is_guarded && ratio && options_.max_newly_denied && *ratio > *options_.max_newly_denied) {
    return refuse(ChangeOutcome::kGuardExceeded,
                  "would newly deny more of the sampled calls than the guard allows");
  }
  return std::nullopt;
}

std::optional<ChangeResult> ChangeEvaluator::FillInNumbers(const rules::RuleFile& before,
                                                           WallTime now, ChangeDraft& draft) {
  rules::FilledText filled = rules::FillInFrom(before, draft.text, now);
  if (!filled.not_filled.empty()) {
    return InvalidText(
        "`from` of the rollout can't be filled in, because an alias, anchor or tag "
        "is at its place; write the numbers that other callers keep into `from`",
        {}, filled.not_filled.front());
  }
  if (filled.yaml == draft.text) return std::nullopt;
  rules::ReadResult read = rules::Read(kDocumentName, filled.yaml);
  draft.text = std::move(filled.yaml);
  draft.result.warnings = std::move(read.warnings);
  if (!read.file) {
    ChangeResult result = FailedChange(
        ChangeOutcome::kInvalid,
        "the numbers in force, which other callers would keep as `from`, don't fit the new rule");
    result.errors = std::move(read.errors);
    result.warnings = std::move(draft.result.warnings);
    return result;
  }
  draft.file = *std::move(read.file);
  return std::nullopt;
}

void ChangeEvaluator::EvaluateImpact(rules::RuleFile before, ChangeDraft& draft) {
  ChangeImpact& impact = draft.result.impact.emplace();
  if (draft.result.difference.empty()) {
    impact.unavailable_reason = "no rule changes";
    return;
  }
  if (!hooks_.evaluate_impact) {
    impact.unavailable_reason = "this node samples no traffic";
    return;
  }
  std::size_t live = 0;
  const auto nodes = store_.ListNodes();
  const auto now = store_.Now();
  if (nodes && now) {
    live = static_cast<std::size_t>(std::count_if(
        nodes->begin(), nodes->end(),
        [&](const NodeRecord& node) { return StateOf(node, {}, *now) != NodeState::kGone; }));
  }
  const auto old_rules = match::RuleSet::Compile(std::move(before));
  const auto new_rules = match::RuleSet::Compile(draft.file);
  impact = hooks_.evaluate_impact(*old_rules, *new_rules, std::max<std::size_t>(live, 1));
}

}  // namespace sluice::control

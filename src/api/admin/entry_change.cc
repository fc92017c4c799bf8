#include "api/admin/entry_change.h"

#include <utility>

#include "api/admin/admin_services.h"
#include "api/admin/key_text.h"
#include "control/entity_tag.h"

namespace sluice::api {
namespace {

using control::EntryOutcome;
using match::Entry;
using match::EntryErrorCode;

constexpr std::size_t kLongestEntryTarget = 512;

bool IsKeyAttribute(std::string_view attribute) {
  return attribute == "api_key" || attribute == "key";
}

// "block-1: block; api_key=hmac_…, endpoint=/search"
std::string AuditTarget(const EntryContext& context, const EntryChangeRequest& request) {
  const std::size_t count = request.put.size() + request.remove.size();
  std::string target;
  if (count > 1) target = std::to_string(count) + " entries: ";
  for (const std::string& id : request.remove) target.append(target.empty() ? "" : " ").append(id);
  for (const Entry& entry : request.put) {
    if (target.size() > kLongestEntryTarget) break;
    if (!target.empty() && !target.ends_with(' ')) target += ", ";
    target += entry.id + ": " + match::EffectText(entry);
    if (count > 1) continue;
    Entry shown = entry;
    for (match::EntryCondition& condition : shown.match) {
      if (IsKeyAttribute(condition.attribute) && context.identifier) {
        condition.value = KeyForRecord(*context.identifier, condition.value);
      }
    }
    target += "; " + match::MatchText(shown);
  }
  if (target.size() > kLongestEntryTarget) target.resize(kLongestEntryTarget);
  return target;
}

std::string FieldOf(const EntryChangeRequest& request, std::size_t at, std::string_view field) {
  std::string path = request.is_batch ? "entries[" + std::to_string(at) + "]." : std::string();
  return path.append(field);
}

std::optional<Problem> ProblemOfPut(const EntryContext& context, const EntryChangeRequest& request,
                                    std::size_t at) {
  const Entry& entry = request.put[at];
  if (match::FitsEveryCall(entry) && !context.principal.Has(identity::Role::kEditor)) {
    return Problem{.code = ProblemCode::kForbidden,
                   .field = FieldOf(request, at, "match"),
                   .detail = "a matcher that fits every call needs the role editor"};
  }
  if (!context.principal.Covers(entry.rule)) {
    return Problem{.code = ProblemCode::kForbidden,
                   .field = FieldOf(request, at, "rule"),
                   .detail = "the token is for rules that begin with " + context.principal.scope};
  }
  if (entry.rule.empty()) return std::nullopt;
  static const rules::RuleFile kNoRules;
  const auto error = match::CheckEntry(entry, context.rules ? context.rules->file() : kNoRules);
  if (!error) return std::nullopt;
  Problem problem = ProblemOf(*error);
  problem.field = FieldOf(request, at, problem.field);
  return problem;
}

// Existing entries may have effects that the client may not change.
std::optional<Problem> ProblemOfReplaced(ControlServices& services, const EntryContext& context,
                                         const std::string& id) {
  const auto found = services.entries.Find(id);
  if (found == nullptr) return std::nullopt;
  if (!context.principal.Covers(found->entry.rule)) {
    return Problem{.code = ProblemCode::kForbidden,
                   .field = "id",
                   .detail = "the entry " + id +
                             " exists, and the token is for rules that begin with " +
                             context.principal.scope};
  }
  if (match::FitsEveryCall(found->entry) && !context.principal.Has(identity::Role::kEditor)) {
    return Problem{.code = ProblemCode::kForbidden,
                   .field = "id",
                   .detail = "the entry " + id +
                             " exists and fits every call: changing it needs the role editor"};
  }
  return std::nullopt;
}

// Sets the record that the change expects. Returns the problem of a precondition that does not
// hold.
std::optional<Problem> ReadPreconditions(ControlServices& services,
                                         const EntryChangeRequest& request,
                                         std::optional<std::uint64_t>& expected) {
  if (!request.if_match && !request.if_none_match) return std::nullopt;
  const std::string& id = request.put.empty() ? request.remove.front() : request.put.front().id;
  const auto record = services.records.Find(control::RecordKind::kEntry, id);
  const std::string tag = record ? control::RecordTag(record->sequence, record->time) : "";
  const bool holds =
      (!request.if_match || (record && control::MatchesTag(*request.if_match, tag))) &&
      (!request.if_none_match || !record || !control::MatchesTag(*request.if_none_match, tag));
  if (!holds) {
    return Problem{.code = ProblemCode::kPreconditionFailed,
                   .detail = record ? "the entry was changed" : "there is no such entry"};
  }
  expected = record ? record->sequence : 0;
  return std::nullopt;
}

}  // namespace

std::string TagOfEntry(ControlServices& services, const std::string& id) {
  const auto record = services.records.Find(control::RecordKind::kEntry, id);
  return record ? control::RecordTag(record->sequence, record->time) : std::string();
}

match::EntryDefaults EntryContext::Defaults() const {
  match::EntryDefaults defaults{.now = now, .author = origin.author};
  if (identifier && identifier->hashes_keys()) {
    defaults.hash_key = [identifier = identifier](std::string_view key) {
      identity::KeyDigest::Buffer room;
      return std::string(identifier->ShownKey(key, room));
    };
  }
  return defaults;
}

EntryContext MakeEntryContext(ServerServices& services, const identity::Principal& principal,
                              control::Origin origin) {
  return {.principal = principal,
          .origin = std::move(origin),
          .now = services.limiter().RuleTime(services.now()),
          .identifier = services.shared_identifier(),
          .rules = services.admin().rules().Active().value};
}

Problem ProblemOf(const match::EntryError& error) {
  const auto code = [&] {
    switch (error.code) {
      case EntryErrorCode::kUnknownField:
        return ProblemCode::kUnknownField;
      case EntryErrorCode::kDuplicateField:
        return ProblemCode::kDuplicateField;
      case EntryErrorCode::kMissing:
        return ProblemCode::kMissingField;
      case EntryErrorCode::kInvalid:
        break;
    }
    return error.field.empty() ? ProblemCode::kInvalidBody : ProblemCode::kInvalidField;
  }();
  return {.code = code, .field = error.field, .detail = error.message};
}

EntryChangeReply ChangeEntries(ControlServices& services, const EntryContext& context,
                               const EntryChangeRequest& request) {
  for (std::size_t i = 0; i < request.put.size(); ++i) {
    if (auto problem = ProblemOfPut(context, request, i)) return {.problem = std::move(problem)};
    if (auto problem = ProblemOfReplaced(services, context, request.put[i].id)) {
      problem->field = FieldOf(request, i, problem->field);
      return {.problem = std::move(problem)};
    }
  }
  for (const std::string& id : request.remove) {
    if (auto problem = ProblemOfReplaced(services, context, id)) {
      return {.problem = std::move(problem)};
    }
  }
  std::optional<std::uint64_t> expected;
  if (auto problem = ReadPreconditions(services, request, expected)) {
    return {.problem = std::move(problem)};
  }
  control::EntryChange change{.put = request.put,
                              .remove = request.remove,
                              .dry_run = request.dry_run,
                              .expected = expected,
                              .audit = {.origin = context.origin,
                                        .action = request.put.empty() ? "entry.delete"
                                                  : request.is_batch  ? "entry.batch"
                                                                      : "entry.put",
                                        .target = AuditTarget(context, request)}};
  if (request.put.size() == 1) change.audit.message = request.put.front().reason;
  EntryChangeReply reply{.result = services.entries.Change(services.records, change)};
  switch (reply.result.outcome) {
    case EntryOutcome::kDone:
      break;
    case EntryOutcome::kNotFound:
      reply.problem = Problem{.code = ProblemCode::kEntryNotFound, .field = "id"};
      break;
    case EntryOutcome::kConflict:
      reply.problem = Problem{.code = ProblemCode::kPreconditionFailed,
                              .detail = "the entry was changed at the same time"};
      break;
    case EntryOutcome::kTooMany:
      reply.problem = Problem{.code = ProblemCode::kTooManyEntries, .detail = reply.result.message};
      break;
    case EntryOutcome::kFailed:
      reply.problem =
          Problem{.code = ProblemCode::kControlStoreUnavailable, .detail = reply.result.message};
      break;
  }
  return reply;
}

}  // namespace sluice::api

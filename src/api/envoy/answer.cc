// The response to the descriptors of a request.

#include <algorithm>
#include <limits>

#include "answer/http_answer.h"
#include "api/envoy/check.h"

namespace sluice::api {
namespace {

using envoy::Unit;
using limiter::CheckRequest;
using store::Operation;

constexpr std::uint32_t kMaxReported = std::numeric_limits<std::uint32_t>::max();

std::uint32_t Clamped(std::int64_t amount) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(amount, 0, kMaxReported));
}

bool RejectsAll(const match::MatchedLimit& matched) {
  return matched.limit != nullptr && matched.limit->reject_all;
}

// Returns the message for a check that is invalid.
std::string_view Describe(ErrorCode error) {
  switch (error) {
    case ErrorCode::kInvalidLimit:
      return "two descriptors ask for one counter under different limits";
    case ErrorCode::kInvalidKey:
      return "the values of a descriptor are longer than 4096 bytes";
    default:
      return "the request can't be evaluated";
  }
}

}  // namespace

void EnvoyCheck::TakeNote(const CheckRequest& check) {
  if (check.ruling == Ruling::kInvalid) {
    error_ = Describe(check.error);
    return;
  }
  const bool is_check = check.operation != Operation::kAdjust;
  if (is_check) is_over_ = !check.allowed;
  const Kind kind = is_check ? Kind::kChecked : Kind::kGivenBack;
  for (Row& row : rows_) {
    if (row.kind == kind && row.uses > 0) NoteRow(row, check);
  }
}

void EnvoyCheck::NoteRow(Row& row, const CheckRequest& check) const {
  row.over = false;
  for (std::size_t i = row.first_use; i < row.first_use + row.uses; ++i) {
    const std::int64_t cap = check.own_limit(i).cap();
    match::MatchedLimit matched;
    Verdict verdict{.limit = cap, .remaining = cap};
    bool over = false;
    if (!check.uses().empty()) {
      const store::KeyUse& use = check.uses()[i];
      matched = check.matched(i);
      const bool closed = row.kind == Kind::kChecked && check.ruling == Ruling::kDegraded &&
                          !check.allowed && check.decision.index == i;
      // If no state was read or the state is unknown: as if never used.
      const bool is_known = use.verdict.outcome != Outcome::kAllowed || use.verdict.remaining > 0 ||
                            use.verdict.reset_after > Micros{0};
      if (is_known || closed) verdict = use.verdict;
      over = use.mode != Mode::kShadow && (closed || use.verdict.outcome != Outcome::kAllowed);
    }
    const bool says_more = i == row.first_use || (over && !row.over) ||
                           (over == row.over && verdict.remaining < row.verdict.remaining);
    if (!says_more) continue;
    row.matched = matched;
    row.limit = &check.own_limit(i);
    row.verdict = verdict;
    row.over = over;
  }
}

EnvoyCode EnvoyCheck::code() const {
  return is_denied_ || is_over_ ? EnvoyCode::kOverLimit : EnvoyCode::kOk;
}

EnvoyStatus EnvoyCheck::StatusOf(std::size_t descriptor) const {
  const Row& row = rows_[descriptor];
  switch (row.kind) {
    case Kind::kNone:
      return {};
    case Kind::kUnlimited:
      return {.remaining = kMaxReported};
    case Kind::kDenied:
      return {.code = EnvoyCode::kOverLimit};
    case Kind::kChecked:
    case Kind::kGivenBack:
      break;
  }
  if (row.limit == nullptr) return {};
  EnvoyStatus status{.code = row.over ? EnvoyCode::kOverLimit : EnvoyCode::kOk, .has_limit = true};
  const bool bans = row.own ? row.own_numbers.requests_per_unit == 0
                            : row.node != nullptr && row.node->limit().reject_all;
  const Limit* const usual = row.own               ? &*row.own
                             : row.node != nullptr ? &row.node->limit().limit
                                                   : nullptr;
  if (usual != nullptr && *usual != *row.limit) {
    // A live entry has other numbers.
    status.requests_per_unit = Clamped(row.limit->cap());
    status.unit = envoy::UnitOf(row.limit->numbers().window);
    if (row.node != nullptr) status.name = row.node->name;
  } else if (row.own) {
    status.requests_per_unit = row.own_numbers.requests_per_unit;
    status.unit = static_cast<Unit>(row.own_numbers.unit);
  } else if (row.node != nullptr) {
    status.requests_per_unit = row.node->requests_per_unit;
    status.unit = row.node->unit;
    status.name = row.node->name;
  } else if (row.matched.rule != nullptr) {
    status.requests_per_unit = RejectsAll(row.matched) ? 0 : Clamped(row.limit->cap());
    status.unit = envoy::UnitOf(row.matched.limit->window);
    status.name = row.matched.rule->id;
  }
  status.remaining = bans || RejectsAll(row.matched) ? 0 : Clamped(row.verdict.remaining);
  status.reset_seconds = ResetOf(row);
  return status;
}

// Whole seconds, rounded up. An unused window ends at the same time.
std::int64_t EnvoyCheck::ResetOf(const Row& row) const {
  if (row.verdict.reset_after > Micros{0}) return SecondsOf(row.verdict.reset_after);
  const LimitNumbers& numbers = row.limit->numbers();
  const bool by_epoch =
      numbers.algorithm == Algorithm::kFixedWindow && numbers.anchor == Anchor::kEpoch;
  const Micros window = RejectsAll(row.matched) ? row.matched.limit->window
                        : by_epoch              ? numbers.window
                                                : Micros{0};
  return window > Micros{0} ? SecondsOf(window - now_.time_since_epoch() % window) : 0;
}

std::string_view EnvoyCheck::MetadataOf(std::size_t descriptor) const {
  const Row& row = rows_[descriptor];
  return row.node != nullptr && row.kind != Kind::kNone && !row.over ? row.node->metadata
                                                                     : std::string_view();
}

}  // namespace sluice::api

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <sluice/result.h>

namespace sluice {

/// Why a request can't be answered as asked. The names are part of the interface: clients decide by
/// them, so they never change. docs/http.md lists them.
enum class ProblemCode : std::uint8_t {
  kInvalidKey,
  kInvalidTokenCost,
  kCostExceedsLimit,
  kUnknownQuantity,
  kMissingQuantity,
  kNoPrice,
  kInvalidAlgorithm,
  kInvalidLimit,
  kInvalidParameter,
  kInvalidBody,
  kInvalidField,
  kUnknownField,
  kDuplicateField,
  kMissingField,
  kMessageRequired,
  kNoIdentity,
  kTooManyAttributes,
  kTooManyDescriptors,
  kTooManyChecks,
  kInvalidReceipt,
  kNotSupported,
  kMalformedRequest,
  kUnauthorized,
  kInvalidToken,
  kForbidden,
  kDenyListed,
  kBlocked,
  kNoRule,
  kMissingAttribute,
  kLimitsInRequestsOff,
  kNotFound,
  kSlotNotHeld,
  kVersionNotFound,
  kRuleNotFound,
  kDenialNotFound,
  kEntryNotFound,
  kNoRules,
  kTokenNotFound,
  kNoLimit,
  kResetNotFound,
  kMethodNotAllowed,
  kAlreadySettled,
  kResetRunning,
  kTooManyTokens,
  kReadOnlySource,
  kTooManyEntries,
  kGuardExceeded,
  kRejectsAll,
  kIdempotencyConflict,
  kPreconditionFailed,
  kBodyTooLarge,
  kUriTooLong,
  kUnsupportedMediaType,
  kExpectationFailed,
  kRulesInvalid,
  kPreconditionRequired,
  kRateLimitExceeded,
  kTemporarilyBlocked,
  kTooManyAttempts,
  kHeadersTooLarge,
  kNotImplemented,
  kHttpVersionNotSupported,
  kStorageUnavailable,
  kStorageTimeout,
  kScriptExecutionFailed,
  kExcessiveKeyCardinality,
  kTooManySettlements,
  kTooManyPending,
  kBusy,
  kControlStoreUnavailable,
};

/// The header WWW-Authenticate of kInvalidToken (RFC 6750).
inline constexpr std::string_view kInvalidTokenChallenge = "Bearer error=\"invalid_token\"";

struct ProblemKind {
  ProblemCode code;
  std::string_view name;
  int status;
  std::string_view meaning;  ///< Said where there is nothing better to say.
};

inline constexpr std::size_t kProblemCount =
    static_cast<std::size_t>(ProblemCode::kControlStoreUnavailable) + 1;

/// By their code.
extern const std::array<ProblemKind, kProblemCount> kProblems;

[[nodiscard]] inline const ProblemKind& KindOf(ProblemCode code) {
  return kProblems[static_cast<std::size_t>(code)];
}

/// An error in a request, with its field.
struct Problem {
  ProblemCode code = ProblemCode::kInvalidBody;
  std::string field{};      ///< "checks[3].cost"; empty: none in particular.
  std::string detail{};     ///< Empty: the code's meaning.
  std::string extension{};  ///< More members of the body, as a JSON object; empty: none.
};

inline constexpr std::string_view kProblemType = "application/problem+json";

/// Appends the body of RFC 9457.
void AppendProblem(const Problem& problem, std::string& out);

/// Of a store that failed, or of a call that makes no sense.
[[nodiscard]] ProblemCode ProblemCodeOf(ErrorCode error);

}  // namespace sluice

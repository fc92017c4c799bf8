#include "answer/problem.h"

#include "base/http_reason.h"
#include "base/json_writer.h"

namespace sluice {

using enum ProblemCode;

namespace {

constexpr std::string_view kEmptyObject = "{}";

}  // namespace

const std::array<ProblemKind, kProblemCount> kProblems = {{
    {kInvalidKey, "INVALID_KEY", 400, "a key has 1 to 256 bytes, none of them a control character"},
    {kInvalidTokenCost, "INVALID_TOKEN_COST", 400, "the cost is not accepted"},
    {kCostExceedsLimit, "COST_EXCEEDS_LIMIT", 400,
     "the cost is more than the limit can ever hold: waiting does not help"},
    {kUnknownQuantity, "UNKNOWN_QUANTITY", 400, "the rules don't know a quantity of `use`"},
    {kMissingQuantity, "MISSING_QUANTITY", 400, "`use` lacks a quantity that a limit counts"},
    {kNoPrice, "NO_PRICE", 400, "a limit counts money, and the model has no price"},
    {kInvalidAlgorithm, "INVALID_ALGORITHM", 400, "unknown algorithm"},
    {kInvalidLimit, "INVALID_LIMIT", 400, "the numbers of the limit are invalid"},
    {kInvalidParameter, "INVALID_PARAMETER", 400, "a query parameter is invalid"},
    {kInvalidBody, "INVALID_BODY", 400, "the body must be a JSON object"},
    {kInvalidField, "INVALID_FIELD", 400, "a field has an invalid value"},
    {kUnknownField, "UNKNOWN_FIELD", 400, "unknown field"},
    {kDuplicateField, "DUPLICATE_FIELD", 400, "a field occurs twice"},
    {kMissingField, "MISSING_FIELD", 400, "a field is missing"},
    {kMessageRequired, "MESSAGE_REQUIRED", 400, "the change needs a message"},
    {kNoIdentity, "NO_IDENTITY", 400,
     "the check has neither `ip` nor `api_key`, and such checks are refused"},
    {kTooManyAttributes, "TOO_MANY_ATTRIBUTES", 400, "a call has at most 32 attributes"},
    {kTooManyDescriptors, "TOO_MANY_DESCRIPTORS", 400,
     "at most 128 descriptors are evaluated at once"},
    {kTooManyChecks, "TOO_MANY_CHECKS", 400, "at most 1000 checks come in one request"},
    {kInvalidReceipt, "INVALID_RECEIPT", 400, "the receipt is damaged, forged or too old"},
    {kNotSupported, "NOT_SUPPORTED", 400, "the limit's algorithm does not support this operation"},
    {kMalformedRequest, "MALFORMED_REQUEST", 400, "not a valid HTTP request"},
    {kUnauthorized, "UNAUTHORIZED", 401, "this needs a token"},
    {kInvalidToken, "INVALID_TOKEN", 401, "the token is not valid"},
    {kForbidden, "FORBIDDEN", 403,
     "without an admin token this is answered on loopback and Unix sockets only"},
    {kDenyListed, "DENY_LISTED", 403, "The caller is on the deny list"},
    {kBlocked, "BLOCKED", 403, "The caller is blocked"},
    {kNoRule, "NO_RULE", 403, "No rule matches the call, and such calls are denied"},
    {kMissingAttribute, "MISSING_ATTRIBUTE", 403,
     "The call lacks an attribute that its limit is counted by, and such calls are denied"},
    {kLimitsInRequestsOff, "LIMITS_IN_REQUESTS_OFF", 403, "limits in requests are disabled"},
    {kNotFound, "NOT_FOUND", 404, "unknown path"},
    {kSlotNotHeld, "SLOT_NOT_HELD", 404, "the slot was released, or has expired"},
    {kVersionNotFound, "VERSION_NOT_FOUND", 404, "that version of the rules is not kept"},
    {kRuleNotFound, "RULE_NOT_FOUND", 404, "the rules have no such rule or tier"},
    {kDenialNotFound, "DENIAL_NOT_FOUND", 404,
     "the id is forged or damaged, or was made with another receipts.secret_file"},
    {kEntryNotFound, "ENTRY_NOT_FOUND", 404, "there is no such live entry, or it has expired"},
    {kNoRules, "NO_RULES", 404, "the store has no version of the rules yet"},
    {kTokenNotFound, "TOKEN_NOT_FOUND", 404,
     "there is no such token: it was revoked, or has expired"},
    {kNoLimit, "NO_LIMIT", 404, "no limit matches"},
    {kResetNotFound, "RESET_NOT_FOUND", 404, "this node keeps no reset of that id"},
    {kMethodNotAllowed, "METHOD_NOT_ALLOWED", 405,
     "the path does not support this method; see Allow"},
    {kAlreadySettled, "ALREADY_SETTLED", 409,
     "the receipt was settled before, at a cost that stands"},
    {kResetRunning, "RESET_RUNNING", 409, "another reset by selector runs on this node"},
    {kTooManyTokens, "TOO_MANY_TOKENS", 409, "there are 10000 tokens already: revoke some"},
    {kReadOnlySource, "READ_ONLY_SOURCE", 409,
     "the rules come from a file and can't be changed through the API"},
    {kTooManyEntries, "TOO_MANY_ENTRIES", 409,
     "there would be too many live entries of a kind; nothing was changed"},
    {kGuardExceeded, "GUARD_EXCEEDED", 409,
     "the change would deny more calls than guard.max_newly_denied allows; nothing was changed"},
    {kRejectsAll, "REJECTS_ALL", 409,
     "the rules would reject every call; send reject_all=1 if that is intended"},
    {kIdempotencyConflict, "IDEMPOTENCY_CONFLICT", 409,
     "the Idempotency-Key was used for another request"},
    {kPreconditionFailed, "PRECONDITION_FAILED", 412,
     "another version of what is to be changed is current; nothing was changed"},
    {kBodyTooLarge, "BODY_TOO_LARGE", 413, "the body is too large"},
    {kUriTooLong, "URI_TOO_LONG", 414, "the request line is too long"},
    {kUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", 415,
     "the body must be JSON: send Content-Type: application/json"},
    {kExpectationFailed, "EXPECTATION_FAILED", 417, "only 100-continue can be expected"},
    {kRulesInvalid, "RULES_INVALID", 422,
     "the rule file has errors; the previous rules stay active"},
    {kPreconditionRequired, "PRECONDITION_REQUIRED", 428,
     "a change needs If-Match with the ETag of the version that it is based on"},
    {kRateLimitExceeded, "RATE_LIMIT_EXCEEDED", 429, "Rate limit exceeded"},
    {kTemporarilyBlocked, "TEMPORARILY_BLOCKED", 429, "The caller is blocked for some time"},
    {kTooManyAttempts, "TOO_MANY_ATTEMPTS", 429,
     "too many wrong tokens were sent from this address: try again in a few seconds"},
    {kHeadersTooLarge, "HEADERS_TOO_LARGE", 431, "the headers are too large"},
    {kNotImplemented, "NOT_IMPLEMENTED", 501, "the server does not implement this"},
    {kHttpVersionNotSupported, "HTTP_VERSION_NOT_SUPPORTED", 505, "HTTP/1.0 and HTTP/1.1 only"},
    {kStorageUnavailable, "STORAGE_UNAVAILABLE", 503, "the store is unavailable"},
    {kStorageTimeout, "STORAGE_TIMEOUT", 503, "the store did not answer in time"},
    {kScriptExecutionFailed, "SCRIPT_EXECUTION_FAILED", 503, "the store refused"},
    {kExcessiveKeyCardinality, "EXCESSIVE_KEY_CARDINALITY", 503,
     "the store has no room for another key"},
    {kTooManySettlements, "TOO_MANY_SETTLEMENTS", 503,
     "the limit remembers as many settled receipts as it may; nothing was changed"},
    {kTooManyPending, "TOO_MANY_PENDING", 503,
     "too many requests were sent without waiting for an answer"},
    {kBusy, "BUSY", 503, "another change is being evaluated, or too many requests wait: try again"},
    {kControlStoreUnavailable, "CONTROL_STORE_UNAVAILABLE", 503,
     "the store of the rules could not be read or written"},
}};

void AppendProblem(const Problem& problem, std::string& out) {
  const ProblemKind& kind = KindOf(problem.code);
  JsonWriter json(out);
  json.BeginObject();
  json.Key("type").String(problem.code == kRateLimitExceeded
                              ? "https://iana.org/assignments/http-problem-types#quota-exceeded"
                              : "about:blank");
  json.Key("title").String(HttpReason(kind.status));
  json.Key("status").Int(kind.status);
  json.Key("detail").String(problem.detail.empty() ? kind.meaning : problem.detail);
  json.Key("code").String(kind.name);
  if (!problem.field.empty()) json.Key("field").String(problem.field);
  if (problem.extension.size() > kEmptyObject.size()) {
    out.append(",").append(problem.extension, 1, problem.extension.size() - kEmptyObject.size());
  }
  json.EndObject();
}

ProblemCode ProblemCodeOf(ErrorCode error) {
  switch (error) {
    case ErrorCode::kInvalidCost:
      return kInvalidTokenCost;
    case ErrorCode::kUnknownQuantity:
      return kUnknownQuantity;
    case ErrorCode::kMissingQuantity:
      return kMissingQuantity;
    case ErrorCode::kNoPrice:
      return kNoPrice;
    case ErrorCode::kInvalidKey:
      return kInvalidKey;
    case ErrorCode::kInvalidLimit:
    case ErrorCode::kTooManyLimits:
      return kInvalidLimit;
    case ErrorCode::kNotSupported:
      return kNotSupported;
    case ErrorCode::kStoreTimeout:
      return kStorageTimeout;
    case ErrorCode::kStoreFull:
      return kExcessiveKeyCardinality;
    case ErrorCode::kTooManySettlements:
      return kTooManySettlements;
    case ErrorCode::kStoreError:
    case ErrorCode::kForeignValue:
      return kScriptExecutionFailed;
    default:
      return kStorageUnavailable;
  }
}

}  // namespace sluice

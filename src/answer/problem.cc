#include "answer/problem.h"

#include "base/http_reason.h"
#include "base/json_writer.h"

namespace sluice {

using enum ProblemCode;

const std::array<ProblemKind, kProblemCount> kProblems = {{
    {kInvalidKey, "INVALID_KEY", 400, "a key has 1 to 256 bytes, none of them a control character"},
    {kInvalidTokenCost, "INVALID_TOKEN_COST", 400, "the cost is not one that is accepted"},
    {kCostExceedsLimit, "COST_EXCEEDS_LIMIT", 400,
     "the cost is more than the limit can ever hold: waiting does not help"},
    {kInvalidAlgorithm, "INVALID_ALGORITHM", 400, "there is no such algorithm"},
    {kInvalidLimit, "INVALID_LIMIT", 400, "the numbers of the limit can't be held"},
    {kInvalidParameter, "INVALID_PARAMETER", 400, "a parameter of the query is wrong"},
    {kInvalidBody, "INVALID_BODY", 400, "the body must be a JSON object"},
    {kInvalidField, "INVALID_FIELD", 400, "a field has a value that it can't have"},
    {kUnknownField, "UNKNOWN_FIELD", 400, "there is no such field"},
    {kDuplicateField, "DUPLICATE_FIELD", 400, "a field is there twice"},
    {kMissingField, "MISSING_FIELD", 400, "a field is missing"},
    {kTooManyAttributes, "TOO_MANY_ATTRIBUTES", 400, "a call has at most 32 attributes"},
    {kTooManyDescriptors, "TOO_MANY_DESCRIPTORS", 400,
     "at most 128 descriptors are judged at once"},
    {kTooManyChecks, "TOO_MANY_CHECKS", 400, "at most 1000 checks come in one request"},
    {kInvalidReceipt, "INVALID_RECEIPT", 400, "the receipt is damaged, forged or too old"},
    {kNotSupported, "NOT_SUPPORTED", 400, "the limit's algorithm has no such operation"},
    {kMalformedRequest, "MALFORMED_REQUEST", 400, "this is no HTTP request"},
    {kUnauthorized, "UNAUTHORIZED", 401, "this needs the admin token"},
    {kInvalidToken, "INVALID_TOKEN", 401, "the token is not valid"},
    {kForbidden, "FORBIDDEN", 403,
     "without an admin token this is answered on loopback and Unix sockets only"},
    {kDenyListed, "DENY_LISTED", 403, "The caller is on the deny list"},
    {kNoRule, "NO_RULE", 403, "No rule is for this call, and such calls are denied"},
    {kLimitsInRequestsOff, "LIMITS_IN_REQUESTS_OFF", 403,
     "limits that requests bring themselves are switched off"},
    {kNotFound, "NOT_FOUND", 404, "there is nothing at this path"},
    {kSlotNotHeld, "SLOT_NOT_HELD", 404, "the slot was released, or has expired"},
    {kVersionNotFound, "VERSION_NOT_FOUND", 404, "that version of the rules is not kept"},
    {kNoLimit, "NO_LIMIT", 404, "no limit is met"},
    {kMethodNotAllowed, "METHOD_NOT_ALLOWED", 405, "the path has no such method; see Allow"},
    {kBodyTooLarge, "BODY_TOO_LARGE", 413, "the body is too large"},
    {kUriTooLong, "URI_TOO_LONG", 414, "the request line is too long"},
    {kExpectationFailed, "EXPECTATION_FAILED", 417, "only 100-continue can be expected"},
    {kRulesInvalid, "RULES_INVALID", 422, "the rule file has mistakes; the old rules stay"},
    {kRateLimitExceeded, "RATE_LIMIT_EXCEEDED", 429, "Rate limit exceeded"},
    {kHeadersTooLarge, "HEADERS_TOO_LARGE", 431, "the headers are too large"},
    {kNotImplemented, "NOT_IMPLEMENTED", 501, "the server can't do that"},
    {kHttpVersionNotSupported, "HTTP_VERSION_NOT_SUPPORTED", 505, "HTTP/1.0 and HTTP/1.1 only"},
    {kStorageUnavailable, "STORAGE_UNAVAILABLE", 503, "the store can't be asked"},
    {kStorageTimeout, "STORAGE_TIMEOUT", 503, "the store did not answer in time"},
    {kScriptExecutionFailed, "SCRIPT_EXECUTION_FAILED", 503, "the store refused"},
    {kExcessiveKeyCardinality, "EXCESSIVE_KEY_CARDINALITY", 503,
     "the store has no room for another key"},
    {kTooManyPending, "TOO_MANY_PENDING", 503,
     "too many requests were sent without waiting for an answer"},
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
  json.EndObject();
}

ProblemCode ProblemCodeOf(ErrorCode error) {
  switch (error) {
    case ErrorCode::kInvalidCost:
      return kInvalidTokenCost;
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
    case ErrorCode::kStoreError:
    case ErrorCode::kForeignValue:
      return kScriptExecutionFailed;
    default:
      return kStorageUnavailable;
  }
}

}  // namespace sluice

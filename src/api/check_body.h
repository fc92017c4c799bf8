#pragma once

#include <initializer_list>
#include <string_view>

#include "api/http_exchange.h"
#include "api/json_body.h"

namespace sluice::api {

/// Makes a question of the fields of a body that say who calls, and by what it is judged:
/// `attributes`, or `key` alone (which is the attribute `api_key`), go by the rules; `key` with
/// `limit` goes by that limit. False, and a problem, if they are wrong or missing.
bool ReadCaller(const HttpExchange& exchange, JsonFields& fields, HttpCall::Part& part);

/// `cost`, if it is there.
bool ReadCost(JsonFields& fields, limiter::Question& question);

/// Reads a check with all its fields.
bool ReadCheck(const HttpExchange& exchange, JsonFields& fields, HttpCall::Part& part);

/// Reads `descriptors`: all together are one question.
bool ReadDescriptors(const HttpExchange& exchange, JsonFields& fields, HttpCall& call);

}  // namespace sluice::api

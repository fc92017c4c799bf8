#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include <sluice/rules.h>

#include "api/http/exchange.h"
#include "api/http/json_body.h"

namespace sluice::api {

/// Makes a check of the fields of a body that name the caller and select its limits:
/// `attributes`, or `key` alone (which is the attribute `api_key`), are matched with the rules;
/// `key` with `limit` uses that limit. False, and a problem, if they are wrong or missing.
bool ReadCaller(const HttpExchange& exchange, JsonFields& fields, HttpCall::Part& part);

/// `cost`, if it is there.
bool ReadCost(JsonFields& fields, limiter::CheckRequest& check);

/// Reads `use`: the names and amounts of quantities. Nothing, and a problem, if they are invalid.
/// The names live as long as the body.
std::optional<std::vector<UsedQuantity>> ReadUse(JsonFields& fields);

/// Reads a check with all its fields.
bool ReadCheck(const HttpExchange& exchange, JsonFields& fields, HttpCall::Part& part);

/// Reads `descriptors`: all together are one check.
bool ReadDescriptors(const HttpExchange& exchange, JsonFields& fields, HttpCall& call);

}  // namespace sluice::api

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/limit.h>

#include "answer/http_answer.h"
#include "api/http/exchange.h"
#include "api/http/problem_response.h"

/// The fields that requests share, read from a query or from a body.
namespace sluice::api {

inline constexpr std::size_t kMaxClientKeyBytes = 256;
inline constexpr std::size_t kMaxAttributes = 32;

/// Whether a client may be known by it: not empty, not too long, no control characters.
[[nodiscard]] bool IsKey(std::string_view key);
[[nodiscard]] Problem BadKey(std::string_view field);

/// A whole number between 1 and what a limit can hold.
[[nodiscard]] std::optional<std::int64_t> ParseCost(std::string_view text);
[[nodiscard]] Problem BadCost(std::string_view field, std::string_view found);

[[nodiscard]] Problem BadAlgorithm(std::string_view field, std::string_view found);

/// Responds with the answered check of a call with one check.
void AnswerCheck(HttpCall& call, std::string& out);
/// The same after a look: 200 also where a check would have been denied.
void AnswerLook(HttpCall& call, std::string& out);

/// Whether the operation was carried out; else `out` has the response.
[[nodiscard]] bool WasDone(HttpCall& call, std::string& out);

}  // namespace sluice::api

#pragma once

#include <string>
#include <string_view>

#include "api/resp/arguments.h"
#include "api/resp/throttle.h"
#include "limiter/check_request.h"

/// INCREX key [BYINT n] [UBOUND max] EX seconds | PX milliseconds ENX, the form of Redis' command
/// that counts hits in a window, which begins at the first hit; GET and PTTL of such a counter.
///
/// A counter is a fixed window with the anchor kFirstHit and the limit `max`, or 2^53 without one.
/// Its keys are those of limits in requests: bounded in number, and apart from CL.THROTTLE's.
namespace sluice::api {

/// The part of the keys of counters that keeps them apart from all others.
inline constexpr std::string_view kCounterScope = ":counter";

/// Makes a check of INCREX. False: `out` has the error reply.
bool AskIncrex(ThrottleLimits& limits, RespArguments arguments, limiter::CheckRequest& check,
               std::string& out);
/// Two integers: the count, and how much of n was applied (0: it would have passed the bound).
void ReplyIncrex(const limiter::CheckRequest& check, std::string& out);

/// GET and PTTL: reads a counter.
bool AskCounter(ThrottleLimits& limits, RespArguments arguments, limiter::CheckRequest& check,
                std::string& out);
/// The count as a string; null if nothing is counted.
void ReplyCount(const limiter::CheckRequest& check, std::string& out);
/// Milliseconds until the window ends, rounded up; -2 if nothing is counted.
void ReplyTimeToLive(const limiter::CheckRequest& check, std::string& out);

}  // namespace sluice::api

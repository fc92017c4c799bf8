#pragma once

#include <string>
#include <string_view>

#include "api/resp/arguments.h"
#include "limiter/check_request.h"

/// The commands that go by the rules: SLUICE.CHECK, SLUICE.PEEK, SLUICE.RESET, SLUICE.GRANT.
///
/// All take attributes of a call as pairs of name and value. In the last pair the name COST (for
/// GRANT: AMOUNT), in any case, is a keyword; an attribute of that name must stand further ahead.
namespace sluice::api {

// These make a check of a command. False: `out` has the error reply.
bool AskCheck(RespArguments arguments, limiter::CheckRequest& check, std::string& out);
bool AskPeek(RespArguments arguments, limiter::CheckRequest& check, std::string& out);
bool AskReset(RespArguments arguments, limiter::CheckRequest& check, std::string& out);
bool AskGrant(RespArguments arguments, limiter::CheckRequest& check, std::string& out);

/// Appends the header of an array and the eight elements of a decision: allowed, limit, remaining,
/// retry_after_ms, reset_after_ms, rule id, degraded, delay_ms. Limit and remaining are -1 if no
/// limit applied or its state is unknown.
void AppendDecisionElements(std::string_view header, const limiter::CheckRequest& check,
                            std::string& out);

/// An array of these elements.
void ReplyDecision(const limiter::CheckRequest& check, std::string& out);
/// How many keys had something to forget.
void ReplyAffected(const limiter::CheckRequest& check, std::string& out);
/// How many limits were given something.
void ReplyGranted(const limiter::CheckRequest& check, std::string& out);

/// The error reply to a check that no limit decided, because it makes no sense or because the
/// store failed.
void AppendUndecided(const limiter::CheckRequest& check, std::string& out);

}  // namespace sluice::api

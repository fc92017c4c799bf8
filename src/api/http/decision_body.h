#pragma once

#include <string>
#include <string_view>

#include "answer/http_answer.h"
#include "api/http/call.h"

namespace sluice::api {

/// Appends a decision as check, remaining and acquire show it.
void AppendDecision(HttpCall::Part& part, const HttpAnswer& answer, WallTime now, std::string& out);

/// Appends `,"receipt":"…"` for what the answered check took, if it took anything.
void AppendReceipt(HttpCall::Part& part, WallTime now, std::string& out);

}  // namespace sluice::api

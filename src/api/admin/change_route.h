#pragma once

#include "api/http/exchange.h"
#include "control/change.h"

namespace sluice::api {

/// Completes a change with the query and the headers of its request (`message`, `dry_run`, `wait`,
/// `force`, `reject_all`, If-Match, Idempotency-Key), runs it and sends the result. Refuses the
/// request if one of them is invalid.
void RunChange(HttpExchange& exchange, control::ChangeRequest change);

}  // namespace sluice::api

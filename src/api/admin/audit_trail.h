#pragma once

#include "api/admin/admin_services.h"
#include "api/peer.h"
#include "api/server_services.h"
#include "control/version.h"
#include "identity/principal.h"
#include "limiter/check_request.h"

namespace sluice::api {

/// Returns the author of a change that an authorized client makes.
[[nodiscard]] control::Origin OriginOf(const identity::Principal& principal, const Peer& peer);

/// Appends a reset or a grant, which an authorized client requests, to the audit log. Of API keys,
/// the record has the digest.
void AuditOperation(ServerServices& services, control::Origin origin, limiter::CheckRequest& check);

/// Returns the principal of a client that has not authenticated.
[[nodiscard]] const identity::Principal& Anonymous();

}  // namespace sluice::api

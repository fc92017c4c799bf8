#pragma once

#include "api/admin/admin_services.h"
#include "api/peer.h"
#include "control/version.h"
#include "limiter/check_request.h"

namespace sluice::api {

/// Returns the author of a change that an authorized client makes.
[[nodiscard]] control::Origin OriginOf(const AdminServices& admin, const Peer& peer);

/// Appends a reset or a grant, which an authorized client requests, to the audit log. Of API keys,
/// the record has a hash or the beginning.
void AuditOperation(AdminServices& admin, const Peer& peer, limiter::CheckRequest& check);

}  // namespace sluice::api

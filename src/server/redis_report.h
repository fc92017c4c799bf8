#pragma once

#include <string_view>

#include "api/admin/key_services.h"
#include "redis/primary_clients.h"

namespace sluice::server {

/// Reads the numbers of the reply to INFO.
void ReadInfo(std::string_view info, api::RedisReport& report);

/// Asks one Redis server about itself: INFO, DBSIZE, SLOWLOG LEN and TIME. What the user may not
/// ask is left out. Blocks.
[[nodiscard]] api::RedisReport ReportOn(const redis::PrimaryClients::Primary& primary,
                                        Micros timeout);

}  // namespace sluice::server

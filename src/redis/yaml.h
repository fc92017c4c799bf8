#pragma once

#include <string>

#include <sluice/result.h>

#include "redis/options.h"

namespace sluice::redis {

/// Reads where Redis is from YAML: a URL, or the same in fields.
///
///     url: rediss://redis.test:6380/2      # other fields add to it
///     host: redis.test
///     port: 6380
///     unix_socket: /run/redis.sock
///     username: sluice
///     password_file: /run/secrets/redis    # or password, or password_env
///     database: 2
///     tls: { ca_file: /etc/ssl/redis.pem } # or true
///     connect_timeout: 250ms
///
/// An error says the line, what was found (except for passwords) and what would be right.
[[nodiscard]] Result<Options> ParseYaml(const std::string& text);

}  // namespace sluice::redis

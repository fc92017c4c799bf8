#pragma once

#include <string>

#include <sluice/result.h>

#include "redis/options.h"

namespace sluice::redis {

/// Parses options from YAML: a URL, or the same in fields.
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
///     sentinel:                            # in place of host and port
///       name: mymaster
///       addresses: [10.0.0.1:26379, 10.0.0.2:26379]
///       username: watcher                  # if the sentinels ask for it
///       password_file: /run/secrets/sentinel
///     cluster: [10.0.0.1:6379, 10.0.0.2:6379]  # likewise
///
/// An error has the line, and the found (except for passwords) and expected text.
[[nodiscard]] Result<Options> ParseYaml(const std::string& text);

}  // namespace sluice::redis

#pragma once

#include <string_view>

#include <sluice/result.h>

#include "redis/options.h"

namespace sluice::redis {

/// Parses options from a URL:
///
///     redis://[[user]:password@]host[:port][/database][?option=value&...]
///     rediss://...                                      the same with TLS
///     unix://[[user]:password@]/path/to/socket[?...]
///     redis-sentinel://[[user]:password@]name@host[:26379][,host[:port]...][/database][?...]
///     redis-cluster://[[user]:password@]host[:port][,host[:port]...][?...]
///     rediss-sentinel://, rediss-cluster://             the same with TLS
///
/// User, password and path are percent-decoded. Options: port, db, client_name, password_file,
/// password_env, ca_file, cert_file, key_file, server_name, verify (true, false), and
/// connect_timeout, stall_timeout, backoff_min, backoff_max as 250ms or 1s; sentinel_username,
/// sentinel_password_file, sentinel_password_env. An IPv6 address stands in brackets.
///
/// An error has the found and the expected text, except for user and password.
[[nodiscard]] Result<Options> ParseUrl(std::string_view url);

}  // namespace sluice::redis

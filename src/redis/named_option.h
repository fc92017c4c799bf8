#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "redis/options.h"

namespace sluice::redis {

/// Sets one of the options that URLs and files know by the same name: port, db, client_name,
/// password_file, password_env, ca_file, cert_file, key_file, server_name, verify, connect_timeout,
/// stall_timeout, backoff_min, backoff_max, sentinel_username, sentinel_password_file,
/// sentinel_password_env. Returns an error message, or nothing.
std::optional<std::string> SetOption(std::string_view name, std::string_view value,
                                     Options& options);

}  // namespace sluice::redis

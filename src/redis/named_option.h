#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "redis/options.h"

namespace sluice::redis {

/// "port: expected a number, found 'x'"
std::string ExpectedFound(std::string_view what, std::string_view expected, std::string_view found);

/// Sets one of the options that URLs and files know by the same name: port, db, client_name,
/// password_file, password_env, ca_file, cert_file, key_file, server_name, verify, connect_timeout,
/// stall_timeout, backoff_min, backoff_max. What is wrong with it, if anything.
std::optional<std::string> SetOption(std::string_view name, std::string_view value,
                                     Options& options);

}  // namespace sluice::redis

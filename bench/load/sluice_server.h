#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "load/process.h"

namespace sluice::bench {

/// The server under test: the one that the environment names as SLUICE, else the `sluice` that lies
/// beside this program. Limits are in its memory, and
/// its rules have budgets that no benchmark uses up, and that are refilled so slowly that no key is
/// forgotten:
///
/// - every call meets a limit of its api_key;
/// - with the endpoint /search a second one;
/// - with the endpoint /closed one of a single call a day, so that the next is denied.
///
/// `listen` is the flag of the listener: "--http", "--http-tls", "--resp" or "--grpc". The rules
/// are written to the folder. `more` are further flags.
Process StartSluice(const std::string& listen, std::size_t loops, const testing::Folder& folder,
                    const std::vector<std::string>& more = {});

/// The same with other rules, on these processors, and limits wherever `store` says: "memory", or
/// the URL of a Redis.
Process StartSluiceOn(const std::string& store, const std::string& rules, const std::string& listen,
                      std::size_t loops, const testing::Folder& folder, const Cores& cores,
                      const std::vector<std::string>& more = {});

}  // namespace sluice::bench

#pragma once

#include <cstddef>
#include <string>

#include <sluice/result.h>

namespace sluice {

/// Maximum size of files with settings, keys or certificates.
inline constexpr std::size_t kMaxSmallFile = std::size_t{1} << 20;

/// Reads a whole file. Errors don't name it: "can't be read: No such file or directory".
[[nodiscard]] Result<std::string> ReadFile(const std::string& path,
                                           std::size_t max_bytes = kMaxSmallFile);

/// Reads a file that holds one secret (a password, a token), without line breaks at its end. An
/// empty one is an error.
[[nodiscard]] Result<std::string> ReadSecretFile(const std::string& path);

}  // namespace sluice

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/watched_files.h"

namespace sluice {

/// Returns the SHA-256 in hexadecimal digits, as sha256sum prints it.
[[nodiscard]] std::string Fingerprint(std::string_view content);
/// Returns the SHA-256 of names and contents of files.
[[nodiscard]] std::string Fingerprint(std::span<const FileContent> files);
/// Returns the fingerprint of the files; empty if they can't be read.
[[nodiscard]] std::string Fingerprint(const FileChange& change);

}  // namespace sluice

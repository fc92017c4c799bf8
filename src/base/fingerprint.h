#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/watched_files.h"

namespace sluice {

/// SHA-256 in hexadecimal digits, as sha256sum prints it: what an operator can compare.
[[nodiscard]] std::string Fingerprint(std::string_view content);
/// Of the names and contents of files.
[[nodiscard]] std::string Fingerprint(std::span<const FileContent> files);
/// Of its files; empty if they can't be read.
[[nodiscard]] std::string Fingerprint(const FileChange& change);

}  // namespace sluice

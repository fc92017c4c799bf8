#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/result.h>

namespace sluice::control {

/// The changes to files of which a state directory's writes consist. Tests override them, to fail
/// or to stop between any two. Each returns an error (kStoreError, with path and reason) or
/// nothing. Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// Creates a file (mode 0600), or empties it, writes and syncs it.
  virtual std::optional<Error> Write(const std::string& path, std::string_view content);
  /// Appends to a file and syncs it; creates it (mode 0600).
  virtual std::optional<Error> Append(const std::string& path, std::string_view content);
  virtual std::optional<Error> Rename(const std::string& from, const std::string& to);
  virtual std::optional<Error> SyncDirectory(const std::string& path);
  /// Succeeds if there is no such file.
  virtual std::optional<Error> Remove(const std::string& path);
  virtual std::optional<Error> Truncate(const std::string& path, std::uint64_t size);
};

/// The file system of the machine.
FileSystem& TheFileSystem();

}  // namespace sluice::control

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>

#include "control/disk/file_system.h"

namespace sluice::control {

/// A directory in which one process at a time keeps its state. Files are replaced atomically: after
/// a crash each has its old or its new content, and temporary files are removed by the next Open.
/// Directories have mode 0700, files 0600.
///
/// Names are relative to the directory, such as "current" or "versions/1.5". Thread-safe, but two
/// threads must not write the same name at the same time. Errors are kStoreError and name the path.
class StateDirectory {
 public:
  /// Creates the directory if it does not exist (its parent must), and locks it. Fails if another
  /// process has it. `files` must outlive the directory.
  static Result<std::unique_ptr<StateDirectory>> Open(const std::string& path,
                                                      FileSystem& files = TheFileSystem());
  /// Unlocks.
  ~StateDirectory();
  StateDirectory(const StateDirectory&) = delete;
  StateDirectory& operator=(const StateDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string PathOf(std::string_view name) const;

  /// Creates a directory in it, unless it exists, and removes temporary files there.
  std::optional<Error> MakeDirectory(std::string_view name);
  /// Lists the names of files in one of its directories, sorted.
  [[nodiscard]] Result<std::vector<std::string>> List(std::string_view directory) const;

  /// Reads a whole file; nothing: there is none.
  [[nodiscard]] Result<std::optional<std::string>> Read(std::string_view name) const;
  /// Reads at most `bytes` from the beginning of a file.
  [[nodiscard]] Result<std::string> ReadBeginning(std::string_view name, std::size_t bytes) const;

  /// Replaces the content of a file, or creates it. After an error the old content is in place,
  /// unless only the final sync of the directory failed.
  std::optional<Error> Replace(std::string_view name, std::string_view content);
  /// Appends to a file. After an error a part of `content` may have been appended.
  std::optional<Error> Append(std::string_view name, std::string_view content);
  std::optional<Error> Truncate(std::string_view name, std::uint64_t size);
  std::optional<Error> Remove(std::string_view name);

 private:
  StateDirectory(std::string path, int lock, FileSystem& files);

  const std::string path_;
  const int lock_;  ///< Descriptor of the lock file.
  FileSystem& files_;
};

}  // namespace sluice::control

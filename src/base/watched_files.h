#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

struct FileContent {
  std::string path;
  std::string content;

  friend bool operator==(const FileContent&, const FileContent&) = default;
};

/// The content of watched files, or the reason why one of them can't be read.
struct FileChange {
  std::vector<FileContent> files{};
  std::string path{};   ///< The file or directory that can't be read.
  std::string error{};  ///< Empty: all files were read.

  friend bool operator==(const FileChange&, const FileChange&) = default;
};

/// Files that are read together: a list of paths, or the files of a directory with given suffixes.
/// In a directory, names that begin with a dot are skipped: editors and Kubernetes use them.
class WatchedFiles {
 public:
  explicit WatchedFiles(std::string path) : paths_{std::move(path)} {}
  explicit WatchedFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  [[nodiscard]] static WatchedFiles InDirectory(std::string path,
                                                std::vector<std::string> suffixes);

  [[nodiscard]] bool empty() const { return paths_.empty(); }

  /// Returns a hash of names, inodes, sizes and times: differs if the content may differ.
  [[nodiscard]] std::uint64_t Signature() const;

  /// Reads all files, in the order of the list or of their names. Fails if the total size exceeds
  /// `max_bytes`.
  [[nodiscard]] FileChange Read(std::size_t max_bytes) const;

 private:
  /// Returns nothing if the directory can't be read; `error` has the reason.
  [[nodiscard]] std::optional<std::vector<std::string>> Paths(std::string& error) const;
  [[nodiscard]] bool HasSuffix(const std::string& name) const;

  std::vector<std::string> paths_;     ///< Files, or one directory.
  std::vector<std::string> suffixes_;  ///< Empty: `paths_` are files.
};

}  // namespace sluice

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rules/path_places.h"

namespace sluice::rules {

/// A file of a directory that is watched.
struct FoundFile {
  std::string path;  ///< With that of the directory.
  std::string content;

  friend bool operator==(const FoundFile&, const FoundFile&) = default;
};

/// What a file was found to be, or the files of a directory.
struct FileChange {
  std::string path;                    ///< As it was given to the watcher.
  std::optional<std::string> content;  ///< Not set: `error` says why it can't be read.
  std::string error;
  /// Of a directory, in the order of their names; its `content` means nothing unless it is not set.
  std::vector<FoundFile> files{};

  friend bool operator==(const FileChange&, const FileChange&) = default;
};

/// What is watched: a file, or those of a directory whose names end in some way. Names that begin
/// with a dot are left out: editors and Kubernetes keep things of their own under them.
class WatchedPath {
 public:
  /// Without endings it is a file.
  WatchedPath(std::string path, std::vector<std::string> endings)
      : path_(std::move(path)), endings_(std::move(endings)) {}

  /// Differs if the content may.
  struct Signature {
    int error = -1;  ///< Never the file's.
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t modified = 0;
    std::int64_t changed = 0;
    std::uint64_t files = 0;  ///< Of a directory: names and signatures, hashed.

    friend bool operator==(const Signature&, const Signature&) = default;
  };
  [[nodiscard]] Signature SignatureNow() const;

  /// Where something happens if it changes.
  [[nodiscard]] std::vector<Place> Places() const;

  /// Fails if it is more than so many bytes, all files together.
  [[nodiscard]] FileChange Read(std::size_t max_bytes) const;

 private:
  /// In the order of their names; nothing if the directory can't be read: `error` says why.
  [[nodiscard]] std::optional<std::vector<std::string>> Files(std::string& error) const;
  [[nodiscard]] bool IsWanted(const std::string& name) const;
  [[nodiscard]] FileChange ReadFiles(std::size_t max_bytes) const;

  std::string path_;
  std::vector<std::string> endings_;
};

}  // namespace sluice::rules

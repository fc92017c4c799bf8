#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <sluice/result.h>

#include "control/disk/state_directory.h"

namespace sluice::control {

/// A state directory that is created and locked when it is first written to, or opened earlier if
/// it exists. Thread-safe.
class LazyStateDirectory {
 public:
  /// `files` must outlive it.
  explicit LazyStateDirectory(std::string path, FileSystem& files = TheFileSystem())
      : path_(std::move(path)), files_(files) {}

  /// Opens the directory, and creates it.
  Result<StateDirectory*> Open();
  /// Opens the directory if it exists; null: it does not.
  Result<StateDirectory*> OpenIfExists();

 private:
  const std::string path_;
  FileSystem& files_;
  std::mutex mutex_;
  std::unique_ptr<StateDirectory> directory_;  ///< Guarded by mutex_; never replaced.
};

}  // namespace sluice::control

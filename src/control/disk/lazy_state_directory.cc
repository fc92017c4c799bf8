#include "control/disk/lazy_state_directory.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace sluice::control {

Result<StateDirectory*> LazyStateDirectory::Open() {
  const std::lock_guard lock(mutex_);
  if (!directory_) {
    auto opened = StateDirectory::Open(path_, files_);
    if (!opened) return opened.error();
    directory_ = *std::move(opened);
  }
  return directory_.get();
}

Result<StateDirectory*> LazyStateDirectory::OpenIfExists() {
  std::error_code error;
  if (!std::filesystem::exists(path_, error) && !error) {
    const std::lock_guard lock(mutex_);
    return directory_.get();
  }
  return Open();
}

}  // namespace sluice::control

#include "control/disk/file_system.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::control {
namespace {

constexpr mode_t kFileMode = 0600;

std::optional<Error> Failed(const std::string& path, const char* what) {
  return Error{ErrorCode::kStoreError, path + ": " + what + " failed: " + std::strerror(errno)};
}

/// A descriptor that is closed with its scope.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, kFileMode)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int fd() const { return fd_; }

 private:
  const int fd_;
};

std::optional<Error> WriteAll(const std::string& path, int flags, std::string_view content) {
  const OpenFile file(path, O_WRONLY | O_CREAT | flags);
  if (file.fd() < 0) return Failed(path, "open");
  while (!content.empty()) {
    const ssize_t written = ::write(file.fd(), content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return Failed(path, "write");
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(file.fd()) == 0 ? std::nullopt : Failed(path, "fsync");
}

}  // namespace

std::optional<Error> FileSystem::Write(const std::string& path, std::string_view content) {
  return WriteAll(path, O_TRUNC, content);
}

std::optional<Error> FileSystem::Append(const std::string& path, std::string_view content) {
  return WriteAll(path, O_APPEND, content);
}

std::optional<Error> FileSystem::Rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0 ? std::nullopt : Failed(to, "rename");
}

std::optional<Error> FileSystem::SyncDirectory(const std::string& path) {
  const OpenFile directory(path, O_RDONLY | O_DIRECTORY);
  if (directory.fd() < 0) return Failed(path, "open");
  return ::fsync(directory.fd()) == 0 ? std::nullopt : Failed(path, "fsync");
}

std::optional<Error> FileSystem::Remove(const std::string& path) {
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? std::nullopt : Failed(path, "unlink");
}

std::optional<Error> FileSystem::Truncate(const std::string& path, std::uint64_t size) {
  return ::truncate(path.c_str(), static_cast<off_t>(size)) == 0 ? std::nullopt
                                                                 : Failed(path, "truncate");
}

FileSystem& TheFileSystem() {
  static FileSystem files;
  return files;
}

}  // namespace sluice::control

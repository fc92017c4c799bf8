#include "control/disk/state_directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/read_file.h"

namespace sluice::control {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = ".tmp";
constexpr mode_t kDirectoryMode = 0700;
constexpr mode_t kLockMode = 0600;
constexpr std::size_t kMaxStateFile = std::size_t{256} << 20;

Error DirectoryError(const std::string& path, const std::string& reason) {
  return {ErrorCode::kStoreError, path + ": " + reason};
}

Error SystemError(const std::string& path, const char* what) {
  return DirectoryError(path, std::string(what) + " failed: " + std::strerror(errno));
}

std::optional<Error> MakePrivateDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) == 0) return std::nullopt;
  if (errno != EEXIST) return SystemError(path, "mkdir");
  if (!fs::is_directory(path)) return DirectoryError(path, "not a directory");
  return std::nullopt;
}

// The process that has the lock, as its file says.
std::string HolderOf(int lock) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(lock, text.data(), text.size(), 0);
  const std::string pid(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const std::size_t digits = std::min(pid.find_first_not_of("0123456789"), pid.size());
  return digits == 0 ? "another process" : "process " + pid.substr(0, digits);
}

// For people; the lock itself does not depend on it.
void WriteHolder(int lock) {
  const std::string pid = std::to_string(::getpid()) + '\n';
  if (::ftruncate(lock, 0) != 0) return;
  [[maybe_unused]] const ssize_t written = ::pwrite(lock, pid.data(), pid.size(), 0);
}

}  // namespace

Result<std::unique_ptr<StateDirectory>> StateDirectory::Open(const std::string& path,
                                                             FileSystem& files) {
  if (auto error = MakePrivateDirectory(path)) return *error;
  const std::string lock_path = path + "/lock";
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kLockMode);
  if (lock < 0) return SystemError(lock_path, "open");
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    const Error error =
        errno == EWOULDBLOCK
            ? DirectoryError(path, "state directory is in use by " + HolderOf(lock) +
                                       "; each process needs a directory of its own")
            : SystemError(lock_path, "flock");
    ::close(lock);
    return error;
  }
  WriteHolder(lock);
  std::unique_ptr<StateDirectory> directory(new StateDirectory(path, lock, files));
  if (auto error = directory->MakeDirectory(".")) return *error;
  return directory;
}

StateDirectory::StateDirectory(std::string path, int lock, FileSystem& files)
    : path_(std::move(path)), lock_(lock), files_(files) {}

StateDirectory::~StateDirectory() { ::close(lock_); }

std::string StateDirectory::PathOf(std::string_view name) const {
  return path_ + '/' + std::string(name);
}

std::optional<Error> StateDirectory::MakeDirectory(std::string_view name) {
  if (auto error = MakePrivateDirectory(PathOf(name))) return error;
  const auto names = List(name);
  if (!names) return names.error();
  for (const std::string& file : *names) {
    if (!file.ends_with(kTemporary)) continue;
    if (auto error = files_.Remove(PathOf(name) + '/' + file)) return error;
  }
  return std::nullopt;
}

Result<std::vector<std::string>> StateDirectory::List(std::string_view directory) const {
  std::vector<std::string> names;
  std::error_code error;
  const std::string path = PathOf(directory);
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error)) names.push_back(entry->path().filename().string());
  }
  if (error) return DirectoryError(path, error.message());
  std::ranges::sort(names);
  return names;
}

Result<std::optional<std::string>> StateDirectory::Read(std::string_view name) const {
  const std::string path = PathOf(name);
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return std::optional<std::string>();
  auto content = ReadFile(path, kMaxStateFile);
  if (!content) return DirectoryError(path, content.error().message);
  return std::optional(std::move(*content));
}

Result<std::string> StateDirectory::ReadBeginning(std::string_view name, std::size_t bytes) const {
  const std::string path = PathOf(name);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return SystemError(path, "open");
  std::string content(bytes, '\0');
  ssize_t size = 0;
  do {
    size = ::pread(file, content.data(), bytes, 0);
  } while (size < 0 && errno == EINTR);
  const Error error = SystemError(path, "read");
  ::close(file);
  if (size < 0) return error;
  content.resize(static_cast<std::size_t>(size));
  return content;
}

std::optional<Error> StateDirectory::Replace(std::string_view name, std::string_view content) {
  const std::string path = PathOf(name);
  const std::string temporary = path + std::string(kTemporary);
  auto error = files_.Write(temporary, content);
  if (!error) error = files_.Rename(temporary, path);
  if (error) {
    (void)files_.Remove(temporary);  // The next Open removes it otherwise.
    return error;
  }
  return files_.SyncDirectory(path.substr(0, path.rfind('/')));
}

std::optional<Error> StateDirectory::Append(std::string_view name, std::string_view content) {
  return files_.Append(PathOf(name), content);
}

std::optional<Error> StateDirectory::Truncate(std::string_view name, std::uint64_t size) {
  return files_.Truncate(PathOf(name), size);
}

std::optional<Error> StateDirectory::Remove(std::string_view name) {
  return files_.Remove(PathOf(name));
}

}  // namespace sluice::control

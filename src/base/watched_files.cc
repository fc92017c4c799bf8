#include "base/watched_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <sys/stat.h>

#include "base/read_file.h"
#include "base/text_hash.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::int64_t Nanos(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

Result<std::string> ReadRegularFile(const std::string& path, std::size_t max_bytes) {
  struct stat status{};
  // Opening a pipe would wait for its writer.
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return Error{ErrorCode::kInvalidOptions, "is not a regular file"};
  }
  return ReadFile(path, max_bytes);
}

std::uint64_t SignatureOf(const std::string& path) {
  struct stat status{};
  const int error = stat(path.c_str(), &status) == 0 ? 0 : errno;
  std::uint64_t hash = HashText(path, static_cast<std::uint64_t>(error));
  if (error != 0) return hash;
  for (const std::int64_t part :
       {static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino),
        static_cast<std::int64_t>(status.st_size), Nanos(status.st_mtim), Nanos(status.st_ctim)}) {
    hash = HashText({reinterpret_cast<const char*>(&part), sizeof part}, hash);
  }
  return hash;
}

}  // namespace

WatchedFiles WatchedFiles::InDirectory(std::string path, std::vector<std::string> suffixes) {
  WatchedFiles files(std::move(path));
  files.suffixes_ = std::move(suffixes);
  return files;
}

bool WatchedFiles::HasSuffix(const std::string& name) const {
  return std::any_of(suffixes_.begin(), suffixes_.end(),
                     [&](const std::string& suffix) { return name.ends_with(suffix); });
}

std::optional<std::vector<std::string>> WatchedFiles::Paths(std::string& error) const {
  if (suffixes_.empty()) return paths_;
  std::error_code failure;
  std::vector<std::string> paths;
  fs::directory_iterator entry(paths_.front(), failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    std::error_code unknown;  // Reading a dangling link fails, and reports it.
    if (!name.starts_with('.') && HasSuffix(name) && !entry->is_directory(unknown)) {
      paths.push_back(entry->path().string());
    }
  }
  if (failure) {
    error = "can't be read: " + failure.message();
    return std::nullopt;
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::uint64_t WatchedFiles::Signature() const {
  std::string error;
  const auto paths = Paths(error);
  if (!paths) return HashText(error);
  std::uint64_t signature = paths->size();
  for (const std::string& path : *paths) {
    signature = MixHash(signature + 1, SignatureOf(path) | 1);
  }
  return signature;
}

FileChange WatchedFiles::Read(std::size_t max_bytes) const {
  FileChange change;
  const auto paths = Paths(change.error);
  if (!paths) {
    change.path = paths_.front();
    return change;
  }
  for (const std::string& path : *paths) {
    auto content = ReadRegularFile(path, max_bytes);
    if (!content) return {.path = path, .error = content.error().message};
    max_bytes -= content->size();
    change.files.push_back({.path = path, .content = *std::move(content)});
  }
  return change;
}

}  // namespace sluice

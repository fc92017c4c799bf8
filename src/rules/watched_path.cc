#include "rules/watched_path.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text_hash.h"

namespace sluice::rules {
namespace {

namespace fs = std::filesystem;

std::int64_t Nanos(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

class OpenFile {
 public:
  // Without O_NONBLOCK, to open a pipe would wait for somebody to write to it.
  explicit OpenFile(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

std::string Reason(const std::string& what, int error) {
  return what + ": " + std::generic_category().message(error);
}

FileChange ReadContent(const std::string& path, std::size_t max_bytes) {
  const auto failed = [&path](std::string why) {
    return FileChange{.path = path, .content = {}, .error = std::move(why)};
  };
  const OpenFile file(path);
  if (file.descriptor() < 0) return failed(Reason("can't be opened", errno));
  struct stat status{};
  if (fstat(file.descriptor(), &status) != 0) return failed(Reason("can't be read", errno));
  if (!S_ISREG(status.st_mode)) return failed("is not a regular file");
  std::string content;
  std::array<char, 65536> part;
  while (true) {
    const ssize_t size = read(file.descriptor(), part.data(), part.size());
    if (size == 0) return {.path = path, .content = std::move(content), .error = {}};
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed(Reason("can't be read", errno));
    content.append(part.data(), static_cast<std::size_t>(size));
    if (content.size() > max_bytes) {
      return failed("is larger than " + std::to_string(max_bytes) + " bytes");
    }
  }
}

WatchedPath::Signature SignatureOf(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return {.error = errno};
  return {.error = 0,
          .device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .modified = Nanos(status.st_mtim),
          .changed = Nanos(status.st_ctim)};
}

std::uint64_t HashOf(const std::string& path, const WatchedPath::Signature& signature) {
  std::uint64_t hash = HashText(path, static_cast<std::uint64_t>(signature.error));
  for (const std::uint64_t part :
       {signature.device, signature.inode, static_cast<std::uint64_t>(signature.size),
        static_cast<std::uint64_t>(signature.modified),
        static_cast<std::uint64_t>(signature.changed)}) {
    hash = HashText({reinterpret_cast<const char*>(&part), sizeof part}, hash);
  }
  return hash;
}

}  // namespace

bool WatchedPath::IsWanted(const std::string& name) const {
  return !name.starts_with('.') &&
         std::any_of(endings_.begin(), endings_.end(),
                     [&](const std::string& ending) { return name.ends_with(ending); });
}

std::optional<std::vector<std::string>> WatchedPath::Files(std::string& error) const {
  std::error_code failure;
  std::vector<std::string> files;
  fs::directory_iterator entry(path_, failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    std::error_code unknown;  // A link that leads nowhere is found out when it is read.
    const bool wanted =
        IsWanted(entry->path().filename().string()) && !entry->is_directory(unknown);
    if (wanted) files.push_back(entry->path().string());
  }
  if (failure) {
    error = "can't be read: " + failure.message();
    return std::nullopt;
  }
  std::sort(files.begin(), files.end());
  return files;
}

WatchedPath::Signature WatchedPath::SignatureNow() const {
  Signature signature = SignatureOf(path_);
  if (endings_.empty()) return signature;
  // That something happened in it is no matter, only what its files are.
  signature.size = signature.modified = signature.changed = 0;
  std::string error;
  const auto files = Files(error);
  if (!files) return {.error = signature.error == 0 ? EIO : signature.error};
  for (const std::string& file : *files) {
    signature.files = MixHash(signature.files + 1, HashOf(file, SignatureOf(file)) | 1);
  }
  return signature;
}

std::vector<Place> WatchedPath::Places() const {
  std::vector<Place> places = PlacesOn(path_);
  if (endings_.empty()) return places;
  std::error_code failure;
  const fs::path directory = fs::canonical(path_, failure);
  if (failure) return places;
  places.push_back({.directory = directory.string(), .name = {}});
  std::string error;
  for (const std::string& file : Files(error).value_or(std::vector<std::string>())) {
    for (Place& place : PlacesOn(file)) places.push_back(std::move(place));
  }
  return places;
}

FileChange WatchedPath::Read(std::size_t max_bytes) const {
  return endings_.empty() ? ReadContent(path_, max_bytes) : ReadFiles(max_bytes);
}

FileChange WatchedPath::ReadFiles(std::size_t max_bytes) const {
  FileChange change{.path = path_, .content = {}, .error = {}};
  const auto files = Files(change.error);
  if (!files) return change;
  for (const std::string& file : *files) {
    FileChange one = ReadContent(file, max_bytes);
    if (!one.content) return one;
    max_bytes -= one.content->size();
    change.files.push_back({.path = file, .content = *std::move(one.content)});
  }
  change.content.emplace();
  return change;
}

}  // namespace sluice::rules

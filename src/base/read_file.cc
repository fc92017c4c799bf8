#include "base/read_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace sluice {
namespace {

Error Failed(const std::string& why) { return {ErrorCode::kInvalidOptions, why}; }

Error Unreadable(int error) {
  return Failed(std::string("can't be read: ") + std::strerror(error));
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes) {
  constexpr std::size_t kStep = std::size_t{64} << 10;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Unreadable(errno);
  std::string content;
  ssize_t read = 1;
  int error = 0;
  while (read > 0 && content.size() <= max_bytes) {
    const std::size_t before = content.size();
    content.resize(before + std::min(kStep, max_bytes + 1 - before));
    do {
      read = ::read(file, content.data() + before, content.size() - before);
    } while (read < 0 && errno == EINTR);
    if (read < 0) error = errno;
    content.resize(before + static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
  }
  ::close(file);
  if (error != 0) return Unreadable(error);
  if (content.size() <= max_bytes) return content;
  return Failed("is larger than " + std::to_string(max_bytes) + " bytes");
}

Result<std::string> ReadSecretFile(const std::string& path) {
  auto secret = ReadFile(path);
  if (!secret) return secret;
  secret->resize(secret->find_last_not_of("\r\n") + 1);
  if (secret->empty()) return Failed("is empty");
  return secret;
}

}  // namespace sluice

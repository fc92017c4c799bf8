#include "input_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::app {

InputFile::InputFile(const std::string& path)
    : descriptor_(path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      error_(descriptor_ < 0 ? errno : 0) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::size_t InputFile::Read(std::span<char> into) {
  if (error_ != 0) return 0;
  while (true) {
    const ssize_t size = read(descriptor_, into.data(), into.size());
    if (size >= 0) return static_cast<std::size_t>(size);
    if (errno == EINTR) continue;
    error_ = errno;
    return 0;
  }
}

std::optional<std::uint64_t> InputFile::Size() const {
  struct stat status{};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace sluice::app

#include "server/machine_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string_view>

#include <unistd.h>

namespace sluice::server {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::size_t PhysicalMemory() {
  const auto pages = sysconf(_SC_PHYS_PAGES);
  const auto size = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return kNoLimit;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(size);
}

// "max" and what can't be read: no limit.
std::size_t ReadLimit(const std::string& path) {
  std::ifstream file(path);
  std::size_t limit = 0;
  return file >> limit && limit > 0 ? limit : kNoLimit;
}

// Of a group and of all that it is part of.
std::size_t LimitOf(const std::string& mount, std::string group, const std::string& file) {
  std::size_t limit = ReadLimit(mount + "/" + file);
  while (group.size() > 1) {
    limit = std::min(limit, ReadLimit(mount + group + "/" + file));
    group.erase(group.rfind('/'));
  }
  return limit;
}

}  // namespace

std::size_t MachineMemory(const std::string& root) {
  std::size_t memory = PhysicalMemory();
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "4:memory:/group" in version 1, "0::/group" in version 2.
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      memory = std::min(memory, LimitOf(root + "/sys/fs/cgroup", group, "memory.max"));
    } else if (controllers == "memory") {
      memory =
          std::min(memory, LimitOf(root + "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return memory;
}

}  // namespace sluice::server

#pragma once

#include <cstddef>
#include <string>

namespace sluice::server {

/// The memory that this process may use at most, in bytes: that of the machine, or less where its
/// control group (version 2, or the memory controller of version 1) says so. `root` is where the
/// system's files begin.
[[nodiscard]] std::size_t MachineMemory(const std::string& root = "");

}  // namespace sluice::server

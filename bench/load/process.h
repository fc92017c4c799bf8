#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/testing/folder.h"

namespace sluice::bench {

using Cores = std::vector<int>;

/// The processors that this program may use.
[[nodiscard]] Cores AllCores();

/// Where a server of so many event loops and its load run: apart, if there are enough processors.
struct Places {
  Cores server;
  Cores load;
};
[[nodiscard]] Places PlacesFor(std::size_t loops);

/// From now on the calling thread runs on these only.
void RunOn(const Cores& cores);

/// A server in a process of its own, on the given processors. It dies with this program, however
/// this program ends.
class Process {
 public:
  /// Returns when somebody answers at the port of the loopback. Throws what the program printed if
  /// it does not start.
  Process(const std::vector<std::string>& command, std::uint16_t port, const Cores& cores);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// What it has used of processors so far, in the kernel and outside of it, in all its threads.
  [[nodiscard]] std::chrono::nanoseconds Cpu() const;

 private:
  testing::Folder folder_;  ///< For what it prints.
  std::uint16_t port_;
  pid_t pid_ = 0;
};

/// The path of an installed program, also of one for administrators; empty if there is none.
[[nodiscard]] std::string FindProgram(const std::string& name);

}  // namespace sluice::bench

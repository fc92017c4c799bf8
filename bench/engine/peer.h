#pragma once

#include <cstdio>
#include <string>

#include <sys/types.h>

namespace sluice::bench {

/// A limiter of another language in a process of its own, which runs the loop of this benchmark.
///
/// It reads a command in each line of its standard input, and answers with a line:
///
///     fill <keys>            uses "user:00000000000" and so on once; answers the bytes a key took
///     load <threads> <file>  reads the keys of a run, 16 bytes each, in equal parts per thread
///     run                    checks them all; answers the seconds, the CPU seconds, how many
///     passed
class Peer {
 public:
  /// Throws if the program does not start.
  Peer(std::string name, const std::string& program, const std::string& contender);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Returns the answer. Throws if there is none.
  std::string Ask(const std::string& command);

 private:
  std::string name_;
  pid_t pid_ = 0;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace sluice::bench

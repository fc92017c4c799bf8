#include "peer.h"

#include <array>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::bench {

Peer::Peer(std::string name, const std::string& program, const std::string& contender)
    : name_(std::move(name)) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("can't start " + program);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execl(program.c_str(), program.c_str(), contender.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = fdopen(in[1], "w");
  from_ = fdopen(out[0], "r");
}

Peer::~Peer() {
  if (to_ != nullptr) std::fclose(to_);  // The end of its input ends it.
  if (from_ != nullptr) std::fclose(from_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

std::string Peer::Ask(const std::string& command) {
  std::array<char, 256> line{};
  if (std::fprintf(to_, "%s\n", command.c_str()) < 0 || std::fflush(to_) != 0 ||
      std::fgets(line.data(), line.size(), from_) == nullptr) {
    throw std::runtime_error(name_ + " does not answer to: " + command);
  }
  return line.data();
}

}  // namespace sluice::bench

#include "load/process.h"

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/fd.h"

namespace sluice::bench {
namespace {

constexpr auto kStartTimeout = std::chrono::seconds(20);
constexpr auto kPause = std::chrono::milliseconds(2);

bool Answers(std::uint16_t port) {
  const net::Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

pid_t Spawn(const std::vector<std::string>& command, const std::string& log, const Cores& cores) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // execvp does not write to them.
  }
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("can't fork");
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // The parent died before it could be asked for.
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  RunOn(cores);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

Cores AllCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  Cores cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cores.push_back(i);
  }
  return cores;
}

Places PlacesFor(std::size_t loops) {
  const Cores all = AllCores();
  if (all.size() <= loops) return {all, all};
  return {Cores(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(loops)), {all.back()}};
}

void RunOn(const Cores& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) throw std::runtime_error("can't pin a thread");
}

Process::Process(const std::vector<std::string>& command, std::uint16_t port, const Cores& cores)
    : port_(port) {
  const std::string log = folder_ / "log";
  pid_ = Spawn(command, log, cores);
  const SteadyTime give_up = SteadyClock::Now() + kStartTimeout;
  while (!Answers(port)) {
    const bool died = waitpid(pid_, nullptr, WNOHANG) == pid_;
    if (died || SteadyClock::Now() > give_up) {
      if (!died) kill(pid_, SIGKILL);
      throw std::runtime_error(command[0] + " does not start:\n" + TextOf(log));
    }
    std::this_thread::sleep_for(kPause);
  }
}

Process::~Process() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::chrono::nanoseconds Process::Cpu() const {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0) {
    throw std::runtime_error("the server has ended");
  }
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::string FindProgram(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string rest = std::string(path == nullptr ? "" : path) + ":/usr/sbin:";
  for (; !rest.empty(); rest.erase(0, rest.find(':') + 1)) {
    const std::string file = rest.substr(0, rest.find(':')) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

}  // namespace sluice::bench

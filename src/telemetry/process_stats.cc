#include "telemetry/process_stats.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

namespace sluice::telemetry {
namespace {

std::chrono::nanoseconds SpanOf(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

// The field of /proc/self/stat with this number, which counts from 1; what follows the program's
// name, which may hold anything, begins with the third.
std::string StatField(std::size_t number) {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::string field;
  for (std::size_t i = 3; i <= number; ++i) fields >> field;
  return field;
}

double BootTimeSeconds() {
  std::ifstream file("/proc/stat");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("btime ")) return std::strtod(line.c_str() + 6, nullptr);
  }
  return 0;
}

double StartTimeSeconds() {
  const double ticks = std::strtod(StatField(22).c_str(), nullptr);
  return BootTimeSeconds() + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::uint64_t OpenFiles() {
  std::error_code error;
  std::uint64_t files = 0;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end;
       it.increment(error)) {
    ++files;
  }
  return files == 0 ? 0 : files - 1;  // Without the one that looked.
}

}  // namespace

std::optional<ProcessStats> ReadProcess() {
  std::ifstream memory("/proc/self/statm");
  std::uint64_t all_pages = 0;
  std::uint64_t resident_pages = 0;
  if (!(memory >> all_pages >> resident_pages)) return std::nullopt;
  memory.close();

  static const double kStarted = StartTimeSeconds();
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  ProcessStats process;
  process.resident_bytes = resident_pages * page;
  process.virtual_bytes = all_pages * page;
  process.open_fds = OpenFiles();
  process.start_time_seconds = kStarted;

  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    process.cpu = SpanOf(usage.ru_utime) + SpanOf(usage.ru_stime);
  }
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) process.max_fds = files.rlim_cur;
  return process;
}

}  // namespace sluice::telemetry

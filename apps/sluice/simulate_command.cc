#include "simulate_command.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "comparison.h"
#include "load_rules.h"
#include "progress.h"
#include "simulation.h"
#include "simulation_report.h"
#include "trace_reader.h"

namespace sluice::app {
namespace {

// The rest are only counted.
constexpr std::uint64_t kBadRowsTold = 10;
// How many rows are read between two looks at the clock.
constexpr std::uint64_t kRowsPerLook = 1024;

class TraceFile {
 public:
  explicit TraceFile(const std::string& path)
      : descriptor_(path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC)),
        error_(descriptor_ < 0 ? errno : 0) {}
  ~TraceFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  std::size_t Read(std::span<char> into) {
    if (error_ != 0) return 0;
    while (true) {
      const ssize_t size = read(descriptor_, into.data(), into.size());
      if (size >= 0) return static_cast<std::size_t>(size);
      if (errno == EINTR) continue;
      error_ = errno;
      return 0;
    }
  }

  // Nothing for a pipe.
  [[nodiscard]] std::optional<std::uint64_t> Size() const {
    struct stat status{};
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return static_cast<std::uint64_t>(status.st_size);
  }

  /// What went wrong, as errno says it; 0 if nothing.
  [[nodiscard]] int error() const { return error_; }

 private:
  int descriptor_;
  int error_;
};

// One run of the command: what it reads, and what it counts.
class Run {
 public:
  explicit Run(const SimulateOptions& options)
      : options_(options), file_(options.traffic), comparison_(options.examples) {
    result_.trace.file = options.traffic;
    result_.top = options.top;
  }

  int Go() {
    if (!(rules_ = Prepare(options_.rules))) return 1;
    result_.rules = rules_.get();
    if (!options_.against.empty()) {
      if (!(against_ = Prepare(options_.against))) return 1;
      result_.against = against_.get();
      result_.comparison = &comparison_;
    }
    if (!ReadTrace()) return 1;
    const std::string report = options_.json ? JsonReport(result_) : TextReport(result_);
    std::fwrite(report.data(), 1, report.size(), stdout);
    return 0;
  }

 private:
  [[nodiscard]] std::unique_ptr<Simulation> Prepare(const std::string& path) const {
    auto rules = LoadRules(path);
    if (!rules) return nullptr;
    auto simulation = Simulation::Create(std::move(rules), {.max_keys = options_.max_keys});
    if (simulation) return std::move(*simulation);
    std::fprintf(stderr, "sluice: %s\n", simulation.error().message.c_str());
    return nullptr;
  }

  [[nodiscard]] bool WantsProgress() const {
    if (options_.progress == ShowProgress::kOnTerminal) return isatty(STDERR_FILENO) != 0;
    return options_.progress == ShowProgress::kAlways;
  }

  bool ReadTrace() {
    if (WantsProgress()) progress_.emplace(file_.Size(), SteadyClock::Now());
    TraceReader reader([this](std::span<char> into) { return file_.Read(into); }, options_.unit);
    bool readable = true;
    for (std::uint64_t rows = 1;; ++rows) {
      const TraceReader::Item item = reader.Next();
      if (item == TraceReader::Item::kEnd) break;
      if (item == TraceReader::Item::kCall) {
        Judge(reader);
      } else if (item == TraceReader::Item::kBadRow) {
        Complain(reader.line(), reader.problem());
      } else {
        Say(reader.line(), reader.problem());
        readable = false;
      }
      if (progress_ && rows % kRowsPerLook == 0) {
        progress_->Show(reader.bytes(), result_.trace.calls, SteadyClock::Now());
      }
    }
    progress_.reset();
    return Conclude(readable);
  }

  // Whether there is something to report.
  bool Conclude(bool readable) {
    const TraceSummary& trace = result_.trace;
    if (file_.error() != 0) {
      std::fprintf(stderr, "%s: %s\n", trace.file.c_str(), std::strerror(file_.error()));
      return false;
    }
    if (trace.bad_rows > kBadRowsTold) {
      std::fprintf(stderr, "%s: %llu more bad rows\n", trace.file.c_str(),
                   static_cast<unsigned long long>(trace.bad_rows - kBadRowsTold));
    }
    if (readable && trace.calls == 0) {
      std::fprintf(stderr, "%s: there are no calls in it\n", trace.file.c_str());
    }
    return readable && trace.calls > 0;
  }

  void Judge(const TraceReader& reader) {
    TraceSummary& trace = result_.trace;
    const TraceRow& row = reader.row();
    if (trace.calls == 0) trace.first = trace.last = row.time;
    if (row.time < trace.last) {
      if (trace.last - row.time > options_.tolerance) {
        Complain(reader.line(), "goes back from " + DateOf(trace.last) + " to " + DateOf(row.time) +
                                    "; sort the trace by time");
        return;
      }
      ++trace.late_rows;
    } else {
      trace.last = row.time;
    }
    ++trace.calls;
    const Judgement judgement = rules_->Judge(row, trace.last);
    if (!against_) return;
    comparison_.Add(reader.line(), row, against_->Judge(row, trace.last), judgement);
  }

  void Complain(std::size_t line, const std::string& problem) {
    if (++result_.trace.bad_rows <= kBadRowsTold) Say(line, problem);
  }

  void Say(std::size_t line, const std::string& problem) {
    if (progress_) progress_->Clear();
    std::fprintf(stderr, "%s:%zu: %s\n", options_.traffic.c_str(), line, problem.c_str());
  }

  const SimulateOptions& options_;
  TraceFile file_;
  std::optional<Progress> progress_;
  std::unique_ptr<Simulation> rules_;
  std::unique_ptr<Simulation> against_;
  Comparison comparison_;
  SimulationResult result_;
};

}  // namespace

int Simulate(const SimulateOptions& options) { return Run(options).Go(); }

}  // namespace sluice::app

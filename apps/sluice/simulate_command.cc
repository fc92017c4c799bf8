#include "simulate_command.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <unistd.h>

#include "base/clock.h"
#include "base/timestamp.h"
#include "entries_file.h"
#include "input_file.h"
#include "load_rules.h"
#include "progress.h"
#include "simulate/comparison.h"
#include "simulate/simulation.h"
#include "simulate/trace_reader.h"
#include "simulation_report.h"

namespace sluice::app {
namespace {

using simulate::SimulatedDecision;
using simulate::TraceReader;
using simulate::TraceRow;

// The rest are only counted.
constexpr std::uint64_t kBadRowsReported = 10;
// How many rows are read between two looks at the clock.
constexpr std::uint64_t kRowsPerLook = 1024;

// One run of the command: what it reads, and what it counts.
class Run {
 public:
  explicit Run(const SimulateOptions& options)
      : options_(options), file_(options.traffic), comparison_(options.examples) {
    result_.trace.file = options.traffic;
    result_.top = options.top;
  }

  int Go() {
    if (!(entries_ = LoadEntries(options_.entries))) return 1;
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
    auto simulation =
        Simulation::Create(std::move(rules), {.max_keys = options_.max_keys, .entries = entries_});
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
        Evaluate(reader);
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
    if (trace.bad_rows > kBadRowsReported) {
      std::fprintf(stderr, "%s: %llu more bad rows\n", trace.file.c_str(),
                   static_cast<unsigned long long>(trace.bad_rows - kBadRowsReported));
    }
    if (readable && trace.calls == 0) {
      std::fprintf(stderr, "%s: there are no calls in it\n", trace.file.c_str());
    }
    return readable && trace.calls > 0;
  }

  void Evaluate(const TraceReader& reader) {
    TraceSummary& trace = result_.trace;
    const TraceRow& row = reader.row();
    if (trace.calls == 0) trace.first = trace.last = row.time;
    if (row.time < trace.last) {
      if (trace.last - row.time > options_.tolerance) {
        Complain(reader.line(), "goes back from " + FormatTimestamp(trace.last) + " to " +
                                    FormatTimestamp(row.time) + "; sort the trace by time");
        return;
      }
      ++trace.late_rows;
    } else {
      trace.last = row.time;
    }
    ++trace.calls;
    const SimulatedDecision decision = rules_->Evaluate(row, trace.last);
    if (!against_) return;
    comparison_.Add(reader.line(), row, against_->Evaluate(row, trace.last), decision);
  }

  void Complain(std::size_t line, const std::string& problem) {
    if (++result_.trace.bad_rows <= kBadRowsReported) Say(line, problem);
  }

  void Say(std::size_t line, const std::string& problem) {
    if (progress_) progress_->Clear();
    std::fprintf(stderr, "%s:%zu: %s\n", options_.traffic.c_str(), line, problem.c_str());
  }

  const SimulateOptions& options_;
  InputFile file_;
  std::optional<Progress> progress_;
  std::shared_ptr<const match::EntrySet> entries_;
  std::unique_ptr<Simulation> rules_;
  std::unique_ptr<Simulation> against_;
  Comparison comparison_;
  SimulationResult result_;
};

}  // namespace

int Simulate(const SimulateOptions& options) { return Run(options).Go(); }

}  // namespace sluice::app

#include "load/report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "base/json_writer.h"

namespace sluice::bench {
namespace {

// On a quiet machine the load gets its core whenever it wants it.
constexpr double kQuiet = 0.05;

constexpr const char* kNobody = "skipped";

void Print(const Speed& s) {
  std::printf(" %10.1f %8.3f %5.0f%%", s.per_second / 1e3, s.cpu_micros, s.server_busy * 100);
}

void Print(const Latency& l) { std::printf(" %10.0f %9.0f %9.0f", l.p50, l.p99, l.p999); }

void Write(JsonWriter& json, const Speed& s) {
  json.BeginObject();
  json.Key("per_second").Double(s.per_second);
  json.Key("cpu_micros").Double(s.cpu_micros);
  json.Key("server_busy").Double(s.server_busy);
  json.Key("load_busy").Double(s.load_busy);
  json.Key("load_kept_waiting").Double(s.kept_waiting);
  json.EndObject();
}

void Write(JsonWriter& json, const Latency& l) {
  json.BeginObject();
  json.Key("answered_per_second").Double(l.per_second);
  json.Key("p50_micros").Double(l.p50);
  json.Key("p99_micros").Double(l.p99);
  json.Key("p999_micros").Double(l.p999);
  json.EndObject();
}

// What every line has.
template <typename Line>
void WriteBoth(JsonWriter& json, const Line& line) {
  json.Key("what").String(line.what);
  json.Key("depth").Uint(line.depth);
  json.Key("ours").String(line.ours);
  json.Key("theirs").String(line.theirs);
  Write(json.Key("measured"), line.measured.ours);
  json.Key("compared");
  if (line.measured.theirs) {
    Write(json, *line.measured.theirs);
  } else {
    json.Null();
  }
}

}  // namespace

void Report::BeginSpeeds(const std::string& title, const std::string& ours,
                         const std::string& theirs) {
  ours_ = ours;
  theirs_ = theirs;
  std::printf("\n%s\n  %-30s %4s %26s %26s %14s\n", title.c_str(), "", "", ours.c_str(),
              theirs.c_str(), "ratio");
  std::printf("  %-30s %4s %10s %9s %6s %10s %9s %6s %7s %6s   %s\n", "", "deep", "k/s", "µs CPU",
              "busy", "k/s", "µs CPU", "busy", "rate", "CPU", "target");
}

void Report::Add(const std::string& what, std::size_t depth, const Compared<Speed>& measured,
                 const Targets& targets, int loops) {
  const SpeedLine line{
      what, ours_, theirs_, depth, loops, measured, Judge(targets, measured, loops)};
  std::printf("  %-30s %4zu", what.c_str(), depth);
  Print(measured.ours);
  if (measured.theirs) {
    Print(*measured.theirs);
    std::printf(" %6.2fx %5.2fx", measured.ours.per_second / measured.theirs->per_second,
                measured.ours.cpu_micros / measured.theirs->cpu_micros);
  } else {
    std::printf(" %26s %14s", kNobody, "");
  }
  for (std::size_t i = 0; i < line.judgements.size(); ++i) {
    std::printf("%s%s: %s", i > 0 ? "; " : "   ", line.judgements[i].target.c_str(),
                VerdictOf(line.judgements[i]).c_str());
  }
  std::printf("\n");
  speeds_.push_back(line);
}

void Report::BeginLatencies(const std::string& title, const std::string& ours,
                            const std::string& theirs) {
  ours_ = ours;
  theirs_ = theirs;
  std::printf("\n%s\n  %-30s %4s %9s %30s %30s\n", title.c_str(), "", "", "", ours.c_str(),
              theirs.c_str());
  std::printf("  %-30s %4s %9s %11s %9s %9s %11s %9s %9s\n", "", "deep", "k/s", "p50 µs", "p99",
              "p99.9", "p50 µs", "p99", "p99.9");
}

void Report::Add(const std::string& what, std::size_t depth, double per_second,
                 const Compared<Latency>& measured) {
  std::printf("  %-30s %4zu %9.1f", what.c_str(), depth, per_second / 1e3);
  Print(measured.ours);
  if (measured.theirs) {
    Print(*measured.theirs);
  } else {
    std::printf(" %30s", kNobody);
  }
  std::printf("\n");
  latencies_.push_back({what, ours_, theirs_, depth, per_second, measured});
}

void Report::PrintSum() const {
  int met = 0;
  int missed = 0;
  int unknown = 0;
  for (const SpeedLine& line : speeds_) {
    for (const Judgement& judgement : line.judgements) {
      met += judgement.outcome == Judgement::Outcome::kMet ? 1 : 0;
      missed += judgement.outcome == Judgement::Outcome::kMissed ? 1 : 0;
      unknown += judgement.outcome == Judgement::Outcome::kUnknown ? 1 : 0;
    }
  }
  std::printf("\ntargets: %d met, %d missed, %d not judged\n", met, missed, unknown);
  PrintWarning();
}

void Report::PrintWarning() const {
  double longest = 0;  // Two loops may share the core of the load.
  for (const SpeedLine& line : speeds_) {
    if (line.measured.theirs) longest = std::max(longest, line.measured.theirs->kept_waiting);
    if (line.loops == 1) longest = std::max(longest, line.measured.ours.kept_waiting);
  }
  if (longest < kQuiet) return;
  std::printf(
      "not a quiet machine: others kept the load from its core for up to %.0f%% of a line's time; "
      "rates and latencies mean little\n",
      longest * 100);
}

void Report::WriteJson(const std::string& path) const {
  std::string out;
  JsonWriter json(out, JsonWriter::Style::kIndented);
  json.BeginObject();
  json.Key("speed").BeginArray();
  for (const SpeedLine& line : speeds_) {
    json.BeginObject();
    WriteBoth(json, line);
    json.Key("targets").BeginObject();
    for (const Judgement& judgement : line.judgements) {
      json.Key(judgement.target).String(VerdictOf(judgement));
    }
    json.EndObject().EndObject();
  }
  json.EndArray();
  json.Key("latency").BeginArray();
  for (const LatencyLine& line : latencies_) {
    json.BeginObject();
    WriteBoth(json, line);
    json.Key("asked_per_second").Double(line.per_second);
    json.EndObject();
  }
  json.EndArray().EndObject();
  if (!(std::ofstream(path) << out << '\n' << std::flush)) {
    throw std::runtime_error("can't write " + path);
  }
}

}  // namespace sluice::bench

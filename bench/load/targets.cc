#include "load/targets.h"

#include <array>
#include <cstdio>
#include <utility>

namespace sluice::bench {
namespace {

// A server that waits longer than this is not at its limit.
constexpr double kBusy = 0.95;

std::string Text(const char* format, double number) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

Judgement::Outcome Met(bool met) {
  return met ? Judgement::Outcome::kMet : Judgement::Outcome::kMissed;
}

// By the rate, unless that fails and says nothing about the server.
Judgement ByRate(std::string target, bool by_rate, bool by_cpu, bool load_is_limit) {
  if (by_rate || !load_is_limit) return {std::move(target), Met(by_rate)};
  return {std::move(target), Met(by_cpu), true};
}

}  // namespace

std::string VerdictOf(const Judgement& judgement) {
  if (judgement.outcome == Judgement::Outcome::kUnknown) return "not judged";
  const std::string met = judgement.outcome == Judgement::Outcome::kMet ? "met" : "missed";
  return judgement.by_cpu ? met + " by CPU (the server was not busy)" : met;
}

std::vector<Judgement> Judge(const Targets& targets, const Compared<Speed>& measured, int loops) {
  const Speed& ours = measured.ours;
  const auto& theirs = measured.theirs;
  const bool load_is_limit = ours.server_busy < kBusy * loops;
  std::vector<Judgement> judgements;
  if (targets.rate > 0) {
    const std::string target = Text("rate ≥ %gx", targets.rate);
    judgements.push_back(
        theirs ? ByRate(target, ours.per_second >= targets.rate * theirs->per_second,
                        ours.cpu_micros * targets.rate <= theirs->cpu_micros, load_is_limit)
               : Judgement{target, Judgement::Outcome::kUnknown});
  }
  if (targets.cpu > 0) {
    const std::string target = Text("CPU ≤ %gx", targets.cpu);
    judgements.push_back(
        theirs ? Judgement{target, Met(ours.cpu_micros <= targets.cpu * theirs->cpu_micros)}
               : Judgement{target, Judgement::Outcome::kUnknown});
  }
  if (targets.per_second > 0) {
    judgements.push_back(
        ByRate(Text("≥ %g M/s", targets.per_second / 1e6), ours.per_second >= targets.per_second,
               loops * 1e6 / ours.cpu_micros >= targets.per_second, load_is_limit));
  }
  return judgements;
}

}  // namespace sluice::bench

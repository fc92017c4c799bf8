#include "load/targets.h"

#include <optional>
#include <string>

#include <gmock/gmock.h>

namespace sluice::bench {
namespace {

using ::testing::ElementsAre;

Speed Of(double per_second, double cpu_micros, double busy) {
  return {.per_second = per_second,
          .cpu_micros = cpu_micros,
          .server_busy = busy,
          .load_busy = 1,
          .kept_waiting = 0};
}

std::vector<std::string> Verdicts(const Targets& targets, const Compared<Speed>& measured,
                                  int loops = 1) {
  std::vector<std::string> verdicts;
  for (const Judgement& judgement : Judge(targets, measured, loops)) {
    verdicts.push_back(judgement.target + ": " + VerdictOf(judgement));
  }
  return verdicts;
}

TEST(Targets, AreMetOrMissedByWhatWasMeasured) {
  const Targets targets{.rate = 1.5, .cpu = 0.4};
  EXPECT_THAT(Verdicts(targets, {Of(1500, 4, 1), Of(1000, 10, 1)}),
              ElementsAre("rate ≥ 1.5x: met", "CPU ≤ 0.4x: met"));
  EXPECT_THAT(Verdicts(targets, {Of(1499, 5, 1), Of(1000, 10, 1)}),
              ElementsAre("rate ≥ 1.5x: missed", "CPU ≤ 0.4x: missed"));
}

TEST(Targets, AreJudgedByCpuWhereTheServerWasNotBusy) {
  const Targets targets{.rate = 1.5};
  EXPECT_THAT(Verdicts(targets, {Of(1000, 6, 0.6), Of(1000, 10, 1)}),
              ElementsAre("rate ≥ 1.5x: met by CPU (the server was not busy)"));
  EXPECT_THAT(Verdicts(targets, {Of(1000, 7, 0.7), Of(1000, 10, 1)}),
              ElementsAre("rate ≥ 1.5x: missed by CPU (the server was not busy)"));
  EXPECT_THAT(Verdicts(targets, {Of(1600, 7, 0.7), Of(1000, 10, 1)}),
              ElementsAre("rate ≥ 1.5x: met"));
}

TEST(Targets, OfARateCountEveryLoop) {
  const Targets targets{.per_second = 1.7e6};
  EXPECT_THAT(Verdicts(targets, {Of(1.8e6, 0.6, 1.2), std::nullopt}, 2),
              ElementsAre("≥ 1.7 M/s: met"));
  EXPECT_THAT(Verdicts(targets, {Of(1.5e6, 0.8, 1.2), std::nullopt}, 2),
              ElementsAre("≥ 1.7 M/s: met by CPU (the server was not busy)"));
  EXPECT_THAT(Verdicts(targets, {Of(1.5e6, 1.3, 1.95), std::nullopt}, 2),
              ElementsAre("≥ 1.7 M/s: missed"));
}

TEST(Targets, AreNotJudgedWithoutAPeer) {
  EXPECT_THAT(Verdicts({.rate = 1, .cpu = 1}, {Of(1, 1, 1), std::nullopt}),
              ElementsAre("rate ≥ 1x: not judged", "CPU ≤ 1x: not judged"));
  EXPECT_THAT(Verdicts({}, {Of(1, 1, 1), std::nullopt}), ElementsAre());
}

}  // namespace
}  // namespace sluice::bench

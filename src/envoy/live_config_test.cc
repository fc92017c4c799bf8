#include "envoy/live_config.h"

#include <gtest/gtest.h>

namespace sluice::envoy {
namespace {

using rules::LoadOutcome;

WallTime At(int seconds) { return WallTime(std::chrono::seconds(seconds)); }

std::vector<SourceFile> Domain(const std::string& name) {
  return {
      {.name = "a.yaml",
       .text = "domain: " + name + "\ndescriptors: [{ key: k, rate_limit: { unlimited: true } }]"}};
}

TEST(LiveConfig, IsReplacedWhole) {
  LiveConfig live;
  ConfigReader reader(live);
  EXPECT_EQ(reader.Get(), nullptr);
  EXPECT_EQ(live.Load(Domain("a"), At(1)).outcome, LoadOutcome::kActivated);
  const Config* first = reader.Get();
  ASSERT_NE(first, nullptr);
  EXPECT_NE(first->FindDomain("a"), nullptr);
  const auto held = reader.held();
  EXPECT_EQ(live.Load(Domain("b"), At(2)).outcome, LoadOutcome::kActivated);
  EXPECT_EQ(held.get(), first) << "who holds it keeps it";
  EXPECT_NE(reader.Get()->FindDomain("b"), nullptr);
  EXPECT_EQ(reader.Get()->FindDomain("a"), nullptr);
  EXPECT_EQ(live.Status().version, 2U);
}

TEST(LiveConfig, KeepsTheOldOneIfTheNewOneHasMistakes) {
  LiveConfig live;
  ConfigReader reader(live);
  live.Load(Domain("a"), At(1));
  const rules::LoadReport report = live.Load(Domain("''"), At(2));
  EXPECT_EQ(report.outcome, LoadOutcome::kRefused);
  EXPECT_EQ(report.mistakes.size(), 1U);
  EXPECT_NE(reader.Get()->FindDomain("a"), nullptr);
  ConfigStatus status = live.Status();
  EXPECT_TRUE(status.failing);
  EXPECT_EQ(status.last_error.size(), 1U);
  EXPECT_EQ(status.last_error_at, At(2));
  EXPECT_EQ(status.failed_loads, 1U);
  EXPECT_EQ(status.version, 1U);
  EXPECT_EQ(live.Load(Domain("a"), At(3)).outcome, LoadOutcome::kUnchanged);
  status = live.Status();
  EXPECT_FALSE(status.failing);
  EXPECT_EQ(status.good_loads, 2U);
  EXPECT_EQ(status.since, At(1));
  EXPECT_EQ(status.last_good_load, At(3));
  EXPECT_EQ(status.domains, 1U);
  EXPECT_EQ(status.limits, 1U);
}

TEST(LiveConfig, ADirectoryThatCantBeReadIsAFailedLoad) {
  LiveConfig live;
  const rules::FileChange gone{.path = "/gone", .content = {}, .error = "can't be read: gone"};
  const rules::LoadReport report = live.Load(gone, At(1));
  EXPECT_EQ(report.outcome, LoadOutcome::kRefused);
  EXPECT_EQ(Describe(report.mistakes.at(0)), "/gone: can't be read: gone");
  const rules::FileChange found{.path = "/here",
                                .content = "",
                                .error = {},
                                .files = {{.path = "/here/a.yaml", .content = "domain: a"},
                                          {.path = "/here/b.yml", .content = "domain: b"}}};
  EXPECT_EQ(live.Load(found, At(2)).outcome, LoadOutcome::kActivated);
  EXPECT_EQ(live.Status().domains, 2U);
}

}  // namespace
}  // namespace sluice::envoy

#include "envoy/load_config.h"

#include <gtest/gtest.h>

namespace sluice::envoy {
namespace {

WallTime At(int seconds) { return WallTime(std::chrono::seconds(seconds)); }

std::vector<FileContent> Domain(const std::string& name) {
  return {{.path = "a.yaml",
           .content =
               "domain: " + name + "\ndescriptors: [{ key: k, rate_limit: { unlimited: true } }]"}};
}

TEST(LoadConfigTest, IsReplacedAsAWhole) {
  Live<Config> live;
  LiveReader<Config> reader(live);
  EXPECT_FALSE(reader.Get());
  EXPECT_EQ(LoadConfig(live, Domain("a"), {}, At(1)).outcome, LoadOutcome::kActivated);
  const Snapshot<Config> first = reader.Get();
  ASSERT_TRUE(first);
  EXPECT_NE(first->FindDomain("a"), nullptr);
  EXPECT_EQ(LoadConfig(live, Domain("b"), {}, At(2)).outcome, LoadOutcome::kActivated);
  EXPECT_NE(first->FindDomain("a"), nullptr) << "a copy keeps the version";
  EXPECT_NE(reader.Get()->FindDomain("b"), nullptr);
  EXPECT_EQ(reader.Get()->FindDomain("a"), nullptr);
  EXPECT_EQ(live.Status().version, 2U);
}

TEST(LoadConfigTest, KeepsTheOldOneIfTheNewOneHasErrors) {
  Live<Config> live;
  LiveReader<Config> reader(live);
  LoadConfig(live, Domain("a"), {}, At(1));
  const LoadReport report = LoadConfig(live, Domain("''"), {}, At(2));
  EXPECT_EQ(report.outcome, LoadOutcome::kRefused);
  EXPECT_EQ(report.errors.size(), 1U);
  EXPECT_NE(reader.Get()->FindDomain("a"), nullptr);
  LiveStatus status = live.Status();
  EXPECT_TRUE(status.failing);
  EXPECT_EQ(status.last_error->size(), 1U);
  EXPECT_EQ(status.last_error_at, At(2));
  EXPECT_EQ(status.failed_loads, 1U);
  EXPECT_EQ(status.version, 1U);
  EXPECT_EQ(LoadConfig(live, Domain("a"), {}, At(3)).outcome, LoadOutcome::kUnchanged);
  status = live.Status();
  EXPECT_FALSE(status.failing);
  EXPECT_EQ(status.good_loads, 2U);
  EXPECT_EQ(live.Active().since, At(1));
  EXPECT_EQ(status.last_good_load, At(3));
  EXPECT_EQ(live.Active().value->domains().size(), 1U);
  EXPECT_EQ(live.Active().value->nodes().size(), 1U);
}

TEST(LoadConfigTest, AnUnreadableDirectoryIsAFailedLoad) {
  Live<Config> live;
  const FileChange gone{.path = "/gone", .error = "can't be read: gone"};
  const LoadReport report = LoadConfig(live, gone, {}, At(1));
  EXPECT_EQ(report.outcome, LoadOutcome::kRefused);
  EXPECT_EQ(report.errors.at(0), "/gone: can't be read: gone");
  const FileChange found{.files = {{.path = "/here/a.yaml", .content = "domain: a"},
                                   {.path = "/here/b.yml", .content = "domain: b"}}};
  EXPECT_EQ(LoadConfig(live, found, {}, At(2)).outcome, LoadOutcome::kActivated);
  EXPECT_EQ(live.Active().value->domains().size(), 2U);
}

}  // namespace
}  // namespace sluice::envoy

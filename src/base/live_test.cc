#include "base/live.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::testing::ElementsAre;

constexpr WallTime kNow{std::chrono::seconds(1'800'000'000)};

LoadReport Load(Live<std::string>& live, const std::string& text) {
  return live.Load("a file", text, kNow, [&]() -> LiveCandidate<std::string> {
    if (text == "bad") return {.errors = {"is bad"}};
    return {.value = std::make_shared<const std::string>(text), .warnings = {"is short"}};
  });
}

TEST(LiveTest, ReadersGetTheActiveVersion) {
  Live<std::string> live;
  LiveReader<std::string> reader(live);
  EXPECT_FALSE(reader.Get());
  EXPECT_EQ(reader.version(), 0U);
  const LoadReport report = Load(live, "one");
  EXPECT_EQ(report.outcome, LoadOutcome::kActivated);
  EXPECT_THAT(report.warnings, ElementsAre("is short"));
  EXPECT_EQ(*reader.Get(), "one");
  EXPECT_EQ(reader.version(), 1U);
  EXPECT_EQ(live.Active().source, "a file");
}

TEST(LiveTest, ARefusedLoadKeepsThePreviousVersion) {
  Live<std::string> live;
  LiveReader<std::string> reader(live);
  Load(live, "one");
  const LoadReport report = Load(live, "bad");
  EXPECT_EQ(report.outcome, LoadOutcome::kRefused);
  EXPECT_EQ(report.version, 1U);
  EXPECT_THAT(*live.Status().last_error, ElementsAre("is bad"));
  EXPECT_TRUE(live.Status().failing);
  EXPECT_EQ(*reader.Get(), "one");
  EXPECT_EQ(Load(live, "one").outcome, LoadOutcome::kUnchanged);
  EXPECT_FALSE(live.Status().failing);
}

TEST(LiveTest, AnUnknownFingerprintIsReadAgain) {
  Live<std::string> live;
  const auto load = [&live] {
    return live
        .Load("", "", kNow,
              []() -> LiveCandidate<std::string> {
                return {.value = std::make_shared<const std::string>("same")};
              })
        .outcome;
  };
  EXPECT_EQ(load(), LoadOutcome::kActivated);
  EXPECT_EQ(load(), LoadOutcome::kActivated);
}

TEST(LiveTest, ASnapshotOwnsItsVersion) {
  Live<std::string> live;
  Load(live, "one");
  std::weak_ptr<const std::string> first = live.Active().value;
  AnySnapshot kept;
  {
    LiveReader<std::string> reader(live);
    Snapshot<std::string> copy = reader.Get();
    Load(live, "two");
    EXPECT_EQ(*reader.Get(), "two");
    EXPECT_EQ(*copy, "one");
    kept = copy;
    copy = reader.Get();
    EXPECT_EQ(*copy, "two");
    EXPECT_EQ(*copy.Share(), "two");
  }
  EXPECT_FALSE(first.expired()) << "a snapshot may outlive its reader";
  AnySnapshot moved = std::move(kept);
  EXPECT_FALSE(first.expired());
  kept = moved;
  kept = AnySnapshot(kept);
  kept.Reset();
  EXPECT_FALSE(first.expired());
  moved.Reset();
  EXPECT_TRUE(first.expired());
}

}  // namespace
}  // namespace sluice

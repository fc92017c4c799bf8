#include "lease/redis/announcement.h"

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/seed.h"

namespace sluice::lease {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kSender = 7;
constexpr std::uint64_t kOther = 8;

std::vector<std::string> Read(std::string_view message, std::uint64_t self = kOther) {
  std::vector<std::string> read;
  ReadAnnouncement(message, self, [&](AnnouncementKind kind, const Key& key) {
    std::string& one = read.emplace_back(1, static_cast<char>(kind));
    for (const std::string_view part : {key.scope, key.tag, key.rest}) {
      one.append("|").append(part);
    }
  });
  return read;
}

TEST(AnnouncementTest, WrittenEntriesAreRead) {
  Announcement kind(kSender);
  EXPECT_TRUE(kind.empty());
  EXPECT_TRUE(
      kind.Add(AnnouncementKind::kRecall, {.scope = "rule:limit", .tag = "alice", .rest = "eu"}));
  EXPECT_TRUE(
      kind.Add(AnnouncementKind::kChanged, {.scope = "rule:limit", .tag = std::string(300, 'x')}));
  EXPECT_THAT(Read(kind.bytes()),
              ElementsAre("r|rule:limit|alice|eu", "c|rule:limit|" + std::string(300, 'x') + "|"));
}

TEST(AnnouncementTest, TheSenderIgnoresItsOwnMessages) {
  Announcement kind(kSender);
  kind.Add(AnnouncementKind::kRecall, {.scope = "s", .tag = "t"});
  EXPECT_THAT(Read(kind.bytes(), kSender), IsEmpty());
}

TEST(AnnouncementTest, EqualEntriesAreWrittenOnce) {
  Announcement kind(kSender);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(kind.Add(AnnouncementKind::kChanged, {.scope = "s", .tag = "t"}));
  EXPECT_THAT(Read(kind.bytes()), ElementsAre("c|s|t|"));
  kind.Clear();
  EXPECT_TRUE(kind.empty());
  EXPECT_TRUE(kind.Add(AnnouncementKind::kChanged, {.scope = "s", .tag = "t"}));
  EXPECT_THAT(Read(kind.bytes()), ElementsAre("c|s|t|"));
}

TEST(AnnouncementTest, AMessageIsBounded) {
  Announcement kind(kSender);
  int taken = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string tag = std::to_string(i);
    taken += kind.Add(AnnouncementKind::kChanged, {.scope = "s", .tag = tag}) ? 1 : 0;
  }
  EXPECT_EQ(taken, 256);
  EXPECT_EQ(Read(kind.bytes()).size(), 256U);
  Announcement large(kSender);
  EXPECT_TRUE(large.Add(AnnouncementKind::kChanged, {.scope = std::string(10'000, 'x')}));
  EXPECT_FALSE(large.Add(AnnouncementKind::kChanged, {.scope = std::string(10'001, 'x')}));
  EXPECT_EQ(Read(large.bytes()).size(), 1U);
}

TEST(AnnouncementTest, ADamagedMessageIsReadUpToTheDamage) {
  Announcement kind(kSender);
  kind.Add(AnnouncementKind::kChanged, {.scope = "s", .tag = "one"});
  const std::size_t first = kind.bytes().size();
  kind.Add(AnnouncementKind::kRecall, {.scope = "s", .tag = "two"});
  for (std::size_t size = 0; size < kind.bytes().size(); ++size) {
    EXPECT_EQ(Read(kind.bytes().substr(0, size)).size(), size >= first ? 1U : 0U) << size;
  }
  const unsigned seed = TestSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 10'000; ++i) {
    std::string damaged(kind.bytes());
    damaged[random() % damaged.size()] = static_cast<char>(random());
    EXPECT_LE(Read(damaged).size(), 2U);
  }
}

}  // namespace
}  // namespace sluice::lease

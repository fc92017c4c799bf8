#include "store/key_directory.h"

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/testing/seed.h"

namespace sluice::store {
namespace {

constexpr WallTime At(std::int64_t second) { return WallTime{std::chrono::seconds(second)}; }

std::set<std::string> TagsOf(const KeyDirectory& directory) {
  std::set<std::string> tags;
  KeyDirectory::Position position = directory.Begin();
  std::vector<SeenKey> keys;
  while (directory.Read(position, 7, keys)) {
  }
  for (const SeenKey& seen : keys) tags.insert(std::string(seen.key.view().tag));
  return tags;
}

TEST(KeyDirectoryTest, KnowsWhenAKeyWasSeenFirstAndLast) {
  KeyDirectory directory(1 << 20);
  const Key key{.scope = "api:default", .tag = "alice", .rest = "GET"};
  directory.Record(key, At(10), false);
  directory.Record(key, At(12), true);
  directory.Record(key, At(15), false);
  const auto times = directory.Find(key);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->first, At(10));
  EXPECT_EQ(times->last, At(15));
  EXPECT_EQ(times->denied, At(12));
  EXPECT_FALSE(directory.Find({.scope = "api:default", .tag = "alice", .rest = ""}));
  EXPECT_FALSE(directory.has_dropped());
}

TEST(KeyDirectoryTest, ListsEveryKeyOnceWhileThereIsRoom) {
  KeyDirectory directory(1 << 20);
  std::set<std::string> all;
  for (int i = 0; i < 1000; ++i) {
    all.insert("user:" + std::to_string(i));
    directory.Record({.scope = "api:default", .tag = "user:" + std::to_string(i)}, At(i), false);
  }
  EXPECT_EQ(TagsOf(directory), all);
  EXPECT_EQ(directory.size(), 1000U);
}

TEST(KeyDirectoryTest, KeepsDeniedAndActiveKeysAndForgetsTheOldest) {
  KeyDirectory directory(1 << 16);
  for (int i = 0; i < 10'000; ++i) {
    directory.Record({.scope = "api:default", .tag = "flood:" + std::to_string(i)}, At(i), false);
    if (i % 10 == 0) {
      directory.Record({.scope = "api:default", .tag = "active"}, At(i), false);
      directory.Record({.scope = "api:default", .tag = "denied"}, At(i), true);
    }
  }
  EXPECT_TRUE(directory.Find({.scope = "api:default", .tag = "active"}));
  EXPECT_TRUE(directory.Find({.scope = "api:default", .tag = "denied"}));
  EXPECT_TRUE(directory.Find({.scope = "api:default", .tag = "flood:9999"}));
  EXPECT_FALSE(directory.Find({.scope = "api:default", .tag = "flood:0"}));
  EXPECT_TRUE(directory.has_dropped());
  EXPECT_EQ(directory.Find({.scope = "api:default", .tag = "active"})->first, At(0));
}

TEST(KeyDirectoryTest, LacksNewKeysUntilItHasDroppedSome) {
  KeyDirectory directory(1 << 16);
  const Key key{.scope = "api:default", .tag = "alice"};
  EXPECT_TRUE(directory.Lacks(key));
  directory.Record(key, At(1), false);
  EXPECT_FALSE(directory.Lacks(key));
  EXPECT_TRUE(directory.Lacks({.scope = "api:default", .tag = "bob"}));
  for (int i = 0; !directory.has_dropped(); ++i) {
    directory.Record({.scope = "api:default", .tag = "user:" + std::to_string(i)}, At(2), false);
  }
  EXPECT_FALSE(directory.Lacks({.scope = "api:default", .tag = "bob"}))
      << "the list is incomplete anyway";
}

TEST(KeyDirectoryTest, KeysThatAreTooLongAreNotKeptAndSaidSo) {
  KeyDirectory directory(1 << 16);
  directory.Record({.scope = "api:default", .tag = std::string(1000, 'x')}, At(1), false);
  EXPECT_FALSE(directory.has_dropped());
  directory.Record({.scope = "api:default", .tag = std::string(3000, 'x')}, At(1), false);
  EXPECT_EQ(directory.size(), 1U);
  EXPECT_TRUE(directory.has_dropped());
}

// Compares a directory that is too small with a map of all keys: whatever it still has must be
// right, and the keys of the last moments must be there.
TEST(KeyDirectoryTest, AgreesWithAMapUnderRandomKeys) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  KeyDirectory directory(1 << 16);
  std::map<std::string, SeenTimes> all;
  std::uniform_int_distribution<int> choose(0, 3000);
  for (int i = 0; i < 60'000; ++i) {
    const int number = choose(random);
    const std::string tag =
        std::string(static_cast<std::size_t>(number % 300), 'k') + std::to_string(number);
    const bool denied = number % 7 == 0;
    directory.Record({.scope = "r:l", .tag = tag}, At(i), denied);
    auto [known, is_new] = all.try_emplace(tag, SeenTimes{.first = At(i)});
    known->second.last = At(i);
    if (denied) known->second.denied = At(i);
    const auto now = directory.Find({.scope = "r:l", .tag = tag});
    ASSERT_TRUE(now) << tag;
    EXPECT_EQ(now->last, At(i));
  }
  KeyDirectory::Position position = directory.Begin();
  std::vector<SeenKey> keys;
  while (directory.Read(position, 100, keys)) {
  }
  EXPECT_EQ(keys.size(), directory.size());
  for (const SeenKey& seen : keys) {
    const SeenTimes& known = all.at(std::string(seen.key.view().tag));
    EXPECT_GE(seen.times.first, known.first);
    EXPECT_EQ(seen.times.last, known.last);
  }
}

TEST(KeyDirectoryTest, MayBeReadWhileItIsWritten) {
  KeyDirectories directories(1 << 17, 2);
  std::atomic<bool> ends{false};
  std::thread writer([&] {
    for (int i = 0; !ends.load(); ++i) {
      for (const std::size_t loop : {0, 1}) {
        directories.of_loop(loop).Record({.scope = "r:l", .tag = std::to_string(i % 5000)}, At(i),
                                         i % 3 == 0);
      }
    }
  });
  for (int i = 0; i < 50; ++i) {
    KeyDirectories::Position position;
    std::vector<SeenKey> keys;
    while (directories.Read(position, 50, keys)) {
    }
    for (const SeenKey& seen : keys) EXPECT_EQ(seen.key.view().scope, "r:l");
  }
  ends = true;
  writer.join();
}

TEST(KeyDirectoriesTest, AKeyOfSeveralLoopsIsListedOnceWithAllTimes) {
  KeyDirectories directories(1 << 18, 3);
  directories.of_loop(2).Record({.scope = "r:l", .tag = "a"}, At(1), false);
  directories.of_loop(0).Record({.scope = "r:l", .tag = "a"}, At(5), false);
  directories.of_loop(1).Record({.scope = "r:l", .tag = "a"}, At(3), true);
  directories.of_loop(1).Record({.scope = "r:l", .tag = "b"}, At(3), false);
  KeyDirectories::Position position;
  std::vector<SeenKey> keys;
  while (directories.Read(position, 1, keys)) {
  }
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].times.first, At(1));
  EXPECT_EQ(keys[0].times.last, At(5));
  EXPECT_EQ(keys[0].times.denied, At(3));
  EXPECT_EQ(keys[1].key.view().tag, "b");
}

}  // namespace
}  // namespace sluice::store

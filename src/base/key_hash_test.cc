#include "base/key_hash.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

// Long enough for several folds: 16 blocks of 7 bytes are 112.
constexpr std::size_t kLongKey = 600;

std::string Text(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 37 + 11);
  return text;
}

std::pair<std::uint64_t, std::uint64_t> Bits(const KeyHash& hash) { return {hash.high, hash.low}; }

// The count of each value, against all being equally likely; how far off is normal is known.
double ChiSquare(const std::vector<int>& counts, double expected) {
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

/// The fastest method is the portable one where the processor has no AES.
class KeyHashTest : public ::testing::TestWithParam<KeyHasher::Method> {};

INSTANTIATE_TEST_SUITE_P(Methods, KeyHashTest,
                         ::testing::Values(KeyHasher::Method::kFastest, KeyHasher::Method::kHidden,
                                           KeyHasher::Method::kPortable),
                         [](const auto& method) {
                           if (method.param == KeyHasher::Method::kHidden) return "Hidden";
                           return method.param == KeyHasher::Method::kFastest ? "Fastest"
                                                                              : "Portable";
                         });

TEST_P(KeyHashTest, EqualKeysHaveEqualHashes) {
  const KeyHasher hasher(GetParam());
  const std::string one = Text(50);
  const std::string other = Text(50);
  EXPECT_EQ(hasher({.scope = one, .tag = one, .rest = one}),
            hasher({.scope = other, .tag = other, .rest = other}));
}

TEST_P(KeyHashTest, ThePrefixOfAScopeGivesTheSameHash) {
  const KeyHasher hasher(GetParam());
  for (const std::size_t size : {0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100}) {
    const std::string scope = Text(size);
    const KeyHasher::Prefix prefix = hasher.HashScope(scope);
    for (const std::size_t tag_size : {0, 1, 8, 15, 16, 17, 40}) {
      const std::string tag = Text(tag_size);
      for (const std::string& rest : {std::string(), std::string("x"), Text(16)}) {
        const Key key{.scope = scope, .tag = tag, .rest = rest};
        EXPECT_EQ(hasher(prefix, key), hasher(key)) << size << " " << tag_size;
      }
    }
  }
}

// Parts of all lengths around a block, with bytes that look like padding.
TEST_P(KeyHashTest, PartsDoNotRunIntoEachOther) {
  const KeyHasher hasher(GetParam());
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::size_t count = 0;
  const auto parts = [](std::size_t size) {
    std::vector<std::string> all{std::string(size, '\0')};
    if (size > 0) all.push_back(std::string(size - 1, '\0') + '\x80');
    return all;
  };
  for (const std::size_t a : {0, 1, 15, 16, 17, 32}) {
    for (const std::size_t b : {0, 1, 15, 16, 17, 32}) {
      for (const std::size_t c : {0, 1, 15, 16, 17, 32}) {
        for (const std::string& scope : parts(a)) {
          for (const std::string& tag : parts(b)) {
            for (const std::string& rest : parts(c)) {
              seen.insert(Bits(hasher({.scope = scope, .tag = tag, .rest = rest})));
              ++count;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), count);
}

TEST_P(KeyHashTest, TheHashDoesNotDependOnAddresses) {
  const KeyHasher hasher(GetParam());
  const std::string text = Text(kLongKey);
  const KeyHash hash = hasher({.tag = text});
  for (std::size_t offset = 0; offset < 16; ++offset) {
    const std::string shifted = std::string(offset, '!') + text + "?";
    EXPECT_EQ(hasher({.tag = std::string_view(shifted).substr(offset, text.size())}), hash);
  }
}

TEST_P(KeyHashTest, BothHalvesHaveSixtyOneBits) {
  const KeyHasher hasher(GetParam());
  for (std::size_t size = 0; size < 200; ++size) {
    const KeyHash hash = hasher({.tag = Text(size)});
    EXPECT_LT(hash.high, std::uint64_t{1} << 61);
    EXPECT_LT(hash.low, std::uint64_t{1} << 61);
  }
}

TEST_P(KeyHashTest, TwoHashersDisagree) {
  const KeyHasher one(GetParam());
  const KeyHasher other(GetParam());
  EXPECT_NE(one({.scope = "s", .tag = "alice"}), other({.scope = "s", .tag = "alice"}));
}

TEST_P(KeyHashTest, MovingBytesBetweenThePartsChangesTheHash) {
  const KeyHasher hasher(GetParam());
  const std::string text = Text(24);
  const std::string_view all = text;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> seen;
  for (std::size_t first = 0; first <= all.size(); ++first) {
    for (std::size_t second = first; second <= all.size(); ++second) {
      const Key key{.scope = all.substr(0, first),
                    .tag = all.substr(first, second - first),
                    .rest = all.substr(second)};
      const std::string cut = std::to_string(first) + "," + std::to_string(second);
      const auto [at, is_new] = seen.emplace(Bits(hasher(key)), cut);
      EXPECT_TRUE(is_new) << "cut at " << cut << " and at " << at->second;
    }
  }
}

TEST_P(KeyHashTest, KeysOfZerosDifferByTheirLengths) {
  const KeyHasher hasher(GetParam());
  const std::string zeros(kLongKey, '\0');
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (std::size_t size = 0; size <= zeros.size(); ++size) {
    EXPECT_TRUE(seen.insert(Bits(hasher({.tag = std::string_view(zeros).substr(0, size)}))).second)
        << size;
  }
}

TEST_P(KeyHashTest, EveryLengthInEveryPartGivesAnotherHash) {
  const KeyHasher hasher(GetParam());
  const std::string text = Text(200);
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  seen.insert(Bits(hasher({})));
  for (std::size_t size = 1; size <= text.size(); ++size) {
    const std::string_view part = std::string_view(text).substr(0, size);
    EXPECT_TRUE(seen.insert(Bits(hasher({.scope = part}))).second) << size;
    EXPECT_TRUE(seen.insert(Bits(hasher({.tag = part}))).second) << size;
    EXPECT_TRUE(seen.insert(Bits(hasher({.rest = part}))).second) << size;
  }
}

TEST_P(KeyHashTest, ChangingAnyBitOfAnyByteChangesTheHash) {
  const KeyHasher hasher(GetParam());
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{20}, kLongKey}) {
    std::string text = Text(size);
    const KeyHash hash = hasher({.scope = "s", .tag = text});
    for (std::size_t i = 0; i < size; ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        const char before = text[i];
        text[i] = static_cast<char>(before ^ (1 << bit));
        const KeyHash changed = hasher({.scope = "s", .tag = text});
        EXPECT_NE(changed.high, hash.high) << "byte " << i << " of " << size << ", bit " << bit;
        EXPECT_NE(changed.low, hash.low) << "byte " << i << " of " << size << ", bit " << bit;
        text[i] = before;
      }
    }
  }
}

TEST_P(KeyHashTest, SwappingTwoBlocksOfALongKeyChangesTheHash) {
  const KeyHasher hasher(GetParam());
  const std::string text = Text(kLongKey);
  const KeyHash hash = hasher({.tag = text});
  // Among them blocks that lie one fold apart, and so meet the same power.
  for (const std::size_t distance : {7U, 7U * 15, 7U * 16, 7U * 32}) {
    for (std::size_t at = 0; at + distance + 7 <= text.size(); at += 7) {
      std::string swapped = text;
      swapped.replace(at, 7, text, at + distance, 7);
      swapped.replace(at + distance, 7, text, at, 7);
      EXPECT_NE(hasher({.tag = swapped}), hash) << at << " and " << at + distance;
    }
  }
}

TEST_P(KeyHashTest, LongKeysThatEndDifferentlyDiffer) {
  const KeyHasher hasher(GetParam());
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = std::string(4000, 'x') + std::to_string(i);
    EXPECT_TRUE(seen.insert(Bits(hasher({.tag = key}))).second) << i;
  }
}

// Most secrets spread such keys evenly whatever is done afterwards; a few tell good from bad.
TEST_P(KeyHashTest, KeysThatCountUpSpreadEvenlyUnderEverySecret) {
  constexpr int kSecrets = 200;
  constexpr int kKeys = 1 << 14;
  constexpr int kCells = 1 << 7;
  for (int secret = 0; secret < kSecrets; ++secret) {
    const KeyHasher hasher(GetParam());
    std::vector<int> high(kCells);
    std::vector<int> low(kCells);
    for (int i = 0; i < kKeys; ++i) {
      const KeyHash hash = hasher({.scope = "per_user", .tag = "user:" + std::to_string(i)});
      ++high[hash.high >> 54];
      ++low[hash.low >> 54];
    }
    // 128 is to be expected, and more than 256 once in a billion times.
    const double expected = static_cast<double>(kKeys) / kCells;
    EXPECT_LT(ChiSquare(high, expected), 2 * kCells);
    EXPECT_LT(ChiSquare(low, expected), 2 * kCells);
  }
}

TEST_P(KeyHashTest, NoTwoOfManyKeysShareAHash) {
  const KeyHasher hasher(GetParam());
  std::set<std::uint64_t> highs;
  for (int i = 0; i < 100'000; ++i) highs.insert(hasher({.tag = std::to_string(i)}).high);
  EXPECT_EQ(highs.size(), 100'000U) << "of one half alone";
}

}  // namespace
}  // namespace sluice

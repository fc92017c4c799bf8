#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "envoy/config.h"
#include "envoy/reader.h"

namespace sluice::envoy {
namespace {

TEST(ConfigAllocation, ThereIsNoneOnceAKeyHasGrown) {
  const FileContent file{.path = "a.yaml", .content = R"(
domain: d
descriptors:
  - key: path
    value: "/a/*/b*"
    descriptors:
      - key: user
        descriptors: [{ key: what, rate_limit: { unit: day, requests_per_unit: 1 } }]
  - { key: path, rate_limit: { unit: day, requests_per_unit: 2 } }
)"};
  const ReadResult read = Read({&file, 1});
  ASSERT_TRUE(read.config);
  const std::vector<std::vector<Entry>> requests = {
      {{"path", "/a/some long name that is no short string/bcd"},
       {"user", "a user whose name is long, and is encoded: ÄÖÜ"},
       {"what", "something that is long as well: ÄÖÜ"}},
      {{"path", "/c"}},
      {{"path", "/c"}, {"user", "u"}},
      {},
  };
  FoundKey key;
  std::size_t met = 0;
  const auto ask = [&] {
    const Domain* domain = read.config->FindDomain("d");
    for (const auto& entries : requests) {
      domain->KeyOf(entries, key, Unit::kDay);
      met += domain->Find(entries, key) != nullptr ? 1 : 0;
    }
  };
  ask();
  const auto before = Allocations();
  for (int round = 0; round < 100; ++round) ask();
  EXPECT_EQ(Allocations() - before, 0U);
  EXPECT_EQ(met, 202U);
}

}  // namespace
}  // namespace sluice::envoy

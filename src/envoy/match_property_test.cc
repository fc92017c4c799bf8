#include <random>

#include <gtest/gtest.h>

#include "base/testing/seed.h"
#include "envoy/config.h"
#include "envoy/testing/random_config.h"
#include "envoy/testing/read.h"

namespace sluice::envoy {
namespace {

using testing::AsEntries;
using testing::PlainAnswer;
using testing::RandomConfig;

void ExpectSame(const std::vector<testing::PlainDescriptor>& descriptors, const Config& config,
                const RandomConfig::Request& request) {
  const PlainAnswer expected = Judge(descriptors, request);
  FoundKey key;
  const std::vector<Entry> entries = AsEntries(request);
  const Node* node = config.FindDomain("d")->Find(entries, key);
  ASSERT_EQ(node != nullptr, expected.requests >= 0 || expected.unlimited);
  if (node == nullptr) return;
  ASSERT_EQ(node->unlimited, expected.unlimited);
  if (!node->unlimited) {
    ASSERT_EQ(static_cast<int>(node->requests_per_unit), expected.requests);
  }
  std::string rest;
  for (std::size_t i = 1; i < expected.counted_by.size(); ++i) {
    if (i > 1) rest += ':';
    AppendPercentEncoded(expected.counted_by[i], rest);
  }
  ASSERT_EQ(key.key().tag,
            expected.counted_by.empty() ? node->rule.id : expected.counted_by.front());
  ASSERT_EQ(key.key().rest, rest);
  ASSERT_EQ(key.key().scope, node->scope);
}

TEST(ConfigProperty, AgreesWithALinearSearch) {
  const unsigned seed = TestSeed();
  RandomConfig random(seed);
  for (int round = 0; round < 300; ++round) {
    const auto descriptors = random.Descriptors(3);
    const std::string yaml = AsYaml(descriptors);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + yaml);
    const auto config = testing::ReadOk(yaml);
    ASSERT_TRUE(config);
    for (int i = 0; i < 200; ++i) {
      const auto request = i % 4 == 0 ? random.AnyRequest() : random.RequestFor(descriptors);
      ExpectSame(descriptors, *config, request);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(ConfigProperty, ThousandsOfDescriptorsAreFoundEach) {
  std::string yaml = "domain: d\ndescriptors:\n";
  constexpr int kCount = 5000;
  for (int i = 0; i < kCount; ++i) {
    yaml += "- { key: ip, value: " + std::to_string(i) +
            ", rate_limit: { unit: day, requests_per_unit: " + std::to_string(i) + " } }\n";
  }
  const auto config = testing::ReadOk(yaml);
  ASSERT_TRUE(config);
  FoundKey key;
  for (int i = 0; i < kCount; ++i) {
    const std::string value = std::to_string(i);
    const Entry entry{"ip", value};
    const Node* node = config->FindDomain("d")->Find({&entry, 1}, key);
    ASSERT_NE(node, nullptr);
    ASSERT_EQ(static_cast<int>(node->requests_per_unit), i);
  }
}

}  // namespace
}  // namespace sluice::envoy

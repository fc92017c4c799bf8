// docs/envoy.md says what the reader does.

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "envoy/fields.h"
#include "envoy/testing/read.h"

namespace sluice::envoy {
namespace {

TEST(EnvoyDocument, EveryExampleLoadsWithoutDiagnostics) {
  std::ifstream document(SLUICE_DOCS "/envoy.md");
  std::string block;
  bool is_inside = false;
  int blocks = 0;
  for (std::string line; std::getline(document, line);) {
    if (is_inside && line == "```") {
      EXPECT_EQ(testing::Complaints(block), "") << block;
      block.clear();
      is_inside = false;
      ++blocks;
    } else if (is_inside) {
      block += line + "\n";
    } else {
      is_inside = line == "```yaml";
    }
  }
  EXPECT_GE(blocks, 2);
}

TEST(EnvoyDocument, EveryFieldIsExplained) {
  std::ifstream document(SLUICE_DOCS "/envoy.md");
  std::stringstream text;
  text << document.rdbuf();
  for (const auto* names :
       {&DomainFields(), &DescriptorFields(), &RateLimitFields(), &ReplacesFields()}) {
    for (const std::string_view name : names->all()) {
      const bool is_there = text.str().find("`" + std::string(name)) != std::string::npos ||
                            text.str().find("\n" + std::string(name) + ":") != std::string::npos;
      EXPECT_TRUE(is_there) << name << ", of " << names->what();
    }
  }
}

}  // namespace
}  // namespace sluice::envoy

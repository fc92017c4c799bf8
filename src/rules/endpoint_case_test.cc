#include "rules/endpoint_case.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/testing/read.h"

namespace sluice::rules {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(EndpointCase, UpperCaseEndpointsCauseWarnings) {
  const auto warnings = WarnOfUpperCaseEndpoints("r.yaml", testing::ReadOk(R"(
endpoints: ["/Orders/{id}"]
rules:
  - { id: a, match: { endpoint: [/Login, /logout] }, limit: 1/s }
  - { id: b, match: { endpoint_regex: "^/Admin" }, limit: 1/s }
  - { id: c, per: endpoint, limit: 1/s, override: { /Big: 9/s } }
)"));
  ASSERT_THAT(warnings, SizeIs(4));
  EXPECT_THAT(Describe(warnings[1]), HasSubstr("r.yaml:4:"));
  EXPECT_THAT(Describe(warnings[1]), HasSubstr("/Login"));
}

TEST(EndpointCase, LowerCaseEndpointsCauseNoWarnings) {
  EXPECT_THAT(WarnOfUpperCaseEndpoints("r.yaml", testing::ReadOk(R"(
rules:
  - { id: a, match: { endpoint_regex: ["^/admin/\\S+$", "(?i)^/Login"], user: Bob }, limit: 1/s }
  - { id: b, match: { endpoint: /login }, per: user, limit: 1/s, override: { Bob: 9/s } }
)")),
              IsEmpty());
}

}  // namespace
}  // namespace sluice::rules

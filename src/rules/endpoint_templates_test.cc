#include "rules/endpoint_templates.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::rules {
namespace {

using ::testing::HasSubstr;

TEST(EndpointTemplates, AParameterStandsForOneSegment) {
  const std::vector<std::string> templates = {"/v1/orders/{id}", "/v1/orders", "/"};
  const EndpointTemplates endpoints(templates);
  EXPECT_EQ(endpoints.Find("/v1/orders/123"), "/v1/orders/{id}");
  EXPECT_EQ(endpoints.Find("/v1/orders/456"), "/v1/orders/{id}");
  EXPECT_EQ(endpoints.Find("/v1/orders"), "/v1/orders");
  EXPECT_EQ(endpoints.Find("/v1/orders/1/items"), "");
  EXPECT_EQ(endpoints.Find("/v1"), "");
  EXPECT_EQ(endpoints.Find("/"), "/");
}

TEST(EndpointTemplates, EmptySegmentsDontCount) {
  const std::vector<std::string> templates = {"/v1/orders/{id}"};
  const EndpointTemplates endpoints(templates);
  EXPECT_EQ(endpoints.Find("/v1//orders/7/"), "/v1/orders/{id}");
  EXPECT_EQ(endpoints.Find("/v1/orders//"), "");
}

TEST(EndpointTemplates, TheMostLiteralOneWinsFromLeftToRight) {
  const std::vector<std::string> templates = {"/{a}/b/c", "/a/{b}/{c}", "/{a...}",
                                              "/a/*",     "/a/{b}/c",   "/a/me"};
  const EndpointTemplates endpoints(templates);
  EXPECT_EQ(endpoints.Find("/a/b/c"), "/a/{b}/c");
  EXPECT_EQ(endpoints.Find("/a/b/d"), "/a/{b}/{c}");
  EXPECT_EQ(endpoints.Find("/x/b/c"), "/{a}/b/c");
  EXPECT_EQ(endpoints.Find("/a/me"), "/a/me");
  EXPECT_EQ(endpoints.Find("/a/you"), "/a/*");
  EXPECT_EQ(endpoints.Find("/a/b/c/d"), "/a/*");
  EXPECT_EQ(endpoints.Find("/a"), "/{a...}");
  EXPECT_EQ(endpoints.Find("/x/y/z"), "/{a...}");
}

TEST(EndpointTemplates, TheRestIsAtLeastOneSegment) {
  const std::vector<std::string> templates = {"/files/{path...}"};
  const EndpointTemplates endpoints(templates);
  EXPECT_EQ(endpoints.Find("/files/a/b"), "/files/{path...}");
  EXPECT_EQ(endpoints.Find("/files/"), "");
}

TEST(EndpointTemplates, OfEqualsTheFirstIsTaken) {
  const std::vector<std::string> templates = {"/a/{x}", "/a/{y}"};
  EXPECT_EQ(EndpointTemplates(templates).Find("/a/1"), "/a/{x}");
}

TEST(EndpointTemplates, ManyAreFoundOneByOne) {
  std::vector<std::string> templates;
  for (int i = 0; i < 5000; ++i) templates.push_back("/v1/r" + std::to_string(i) + "/{id}");
  const EndpointTemplates endpoints(templates);
  for (int i = 0; i < 5000; ++i) {
    EXPECT_EQ(endpoints.Find("/v1/r" + std::to_string(i) + "/x"),
              templates[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(endpoints.Find("/v1/r5000/x"), "");
}

TEST(EndpointTemplates, ErrorsAreExplained) {
  EXPECT_EQ(TemplateProblem("/v1/orders/{id}/*"), std::nullopt);
  EXPECT_THAT(TemplateProblem("v1").value_or(""), HasSubstr("begin with '/'"));
  EXPECT_THAT(TemplateProblem("/a?b=1").value_or(""), HasSubstr("without their query"));
  EXPECT_THAT(TemplateProblem("/a/{id}.json").value_or(""), HasSubstr("whole segment"));
  EXPECT_THAT(TemplateProblem("/a/x*").value_or(""), HasSubstr("whole segment"));
  EXPECT_THAT(TemplateProblem("/a/{}").value_or(""), HasSubstr("needs a name"));
  EXPECT_THAT(TemplateProblem("/a/{...}").value_or(""), HasSubstr("needs a name"));
  EXPECT_THAT(TemplateProblem("/a/*/b").value_or(""), HasSubstr("after the one"));
  EXPECT_THAT(TemplateProblem("/a/{r...}/b").value_or(""), HasSubstr("after the one"));
  EXPECT_THAT(TemplateProblem("/a/{x{y}}").value_or(""), HasSubstr("no braces"));
}

}  // namespace
}  // namespace sluice::rules

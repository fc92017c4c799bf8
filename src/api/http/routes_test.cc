#include "api/http/routes.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace sluice::api {
namespace {

// The path of the route that a path is routed to; empty: none.
std::string_view PatternOf(std::string_view path) {
  const auto routes = FindHttpRoutes(path);
  return routes.empty() ? std::string_view() : routes.front().path;
}

TEST(HttpRoutes, APathParameterIsOneSegment) {
  EXPECT_EQ(PatternOf("/admin/v1/rules/search"), "/admin/v1/rules/{id}");
  EXPECT_EQ(PatternOf("/admin/v1/rules/a%2Fb"), "/admin/v1/rules/{id}");
  EXPECT_EQ(PatternOf("/admin/v1/tiers/pro"), "/admin/v1/tiers/{name}");
  for (const char* path :
       {"/admin/v1/rules/", "/admin/v1/rules/a/b", "/admin/v1/tiers", "/admin/v1/tiers/",
        "/admin/v1/rules/versions/", "/admin/v1/", "/admin/v1/rules/versions/1.2/restore/x"}) {
    EXPECT_EQ(PatternOf(path), "") << path;
  }
}

TEST(HttpRoutes, APathWithoutParametersWinsOverOneWithThem) {
  EXPECT_EQ(PatternOf("/admin/v1/rules/versions"), "/admin/v1/rules/versions");
  EXPECT_EQ(FindMethod(FindHttpRoutes("/admin/v1/rules/versions"), wire::HttpMethod::kPut),
            nullptr);
}

TEST(HttpRoutes, TwoParametersMayShareASegment) {
  const std::string_view path = "/admin/v1/rules/versions/1.16...1.17";
  const auto routes = FindHttpRoutes(path);
  ASSERT_FALSE(routes.empty());
  EXPECT_EQ(routes.front().path, "/admin/v1/rules/versions/{from}...{to}");
  EXPECT_EQ(PathParameter(routes.front(), path, "from"), "1.16");
  EXPECT_EQ(PathParameter(routes.front(), path, "to"), "1.17");
  EXPECT_EQ(PathParameter(routes.front(), path, "other"), "");
  EXPECT_EQ(PatternOf("/admin/v1/rules/versions/1.16"), "/admin/v1/rules/versions/{version}");
  EXPECT_EQ(PatternOf("/admin/v1/rules/versions/1.16..."), "/admin/v1/rules/versions/{version}");
  EXPECT_EQ(PatternOf("/admin/v1/rules/versions/1.16/restore"),
            "/admin/v1/rules/versions/{version}/restore");
}

TEST(HttpRoutes, EveryDocumentIsForAdministrators) {
  for (const HttpRoute& route : HttpRoutes()) {
    const bool must_be = route.use == RouteUse::kDocuments || route.path.starts_with("/admin/");
    EXPECT_TRUE(route.is_administrative() || !must_be) << route.path;
  }
}

}  // namespace
}  // namespace sluice::api

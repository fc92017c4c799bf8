#include "api/openapi.h"

#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "api/http_routes.h"
#include "api/testing/http_server.h"

namespace sluice::api {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

class OpenApiTest : public testing::HttpTest {
 protected:
  void SetUp() override {
    host_.envoy_desk.emplace(host_.envoy_config, EnvoyOptions{});
    ASSERT_EQ(parser_.parse(kOpenApi.data(), kOpenApi.size()).get(document_), simdjson::SUCCESS);
  }

  simdjson::dom::parser parser_;
  element document_;
};

TEST_F(OpenApiTest, ItsPathsAndMethodsAreExactlyTheRoutes) {
  std::set<std::string> described;
  object paths;
  ASSERT_EQ(document_["paths"].get(paths), simdjson::SUCCESS);
  for (const auto& path : paths) {
    object methods;
    ASSERT_EQ(path.value.get(methods), simdjson::SUCCESS);
    for (const auto& method : methods) {
      described.insert(std::string(method.key) + " " + std::string(path.key));
    }
  }
  const std::map<wire::HttpMethod, std::string> names = {{wire::HttpMethod::kGet, "get"},
                                                         {wire::HttpMethod::kPost, "post"},
                                                         {wire::HttpMethod::kPut, "put"},
                                                         {wire::HttpMethod::kDelete, "delete"}};
  std::set<std::string> routes;
  for (const HttpRoute& route : HttpRoutes()) {
    // What answers every method is described by the one that proxies use most.
    const auto method = route.method == kAnyMethod ? wire::HttpMethod::kGet : route.method;
    routes.insert(names.at(method) + " " + std::string(route.path));
  }
  EXPECT_EQ(described, routes);
  std::string_view version;
  ASSERT_EQ(document_["openapi"].get(version), simdjson::SUCCESS);
  EXPECT_EQ(version, "3.1.0");
}

TEST_F(OpenApiTest, ItsExampleRequestsAreAccepted) {
  Load("rules: [{ id: api, algorithm: fixed_window, limit: 1000, window: 60 }]");
  host_.next_rules = "rules: [{ id: other, limit: 10/h }]";
  object paths;
  ASSERT_EQ(document_["paths"].get(paths), simdjson::SUCCESS);
  std::size_t tried = 0;
  for (const auto& path : paths) {
    object methods;
    ASSERT_EQ(path.value.get(methods), simdjson::SUCCESS);
    for (const auto& method : methods) {
      object examples;
      if (method.value["requestBody"]["content"]["application/json"]["examples"].get(examples) !=
          simdjson::SUCCESS) {
        continue;
      }
      for (const auto& example : examples) {
        element value;
        ASSERT_EQ(example.value["value"].get(value), simdjson::SUCCESS);
        std::string verb(method.key);
        for (char& c : verb) c = static_cast<char>(std::toupper(c));
        const testing::Heard heard = Request(verb, path.key, simdjson::minify(value));
        // A receipt in a document can't be one of this server, nor a slot be held.
        const std::string code = testing::TextOf(heard.body, "code");
        if (code == "INVALID_RECEIPT" || code == "SLOT_NOT_HELD") continue;
        EXPECT_EQ(heard.status, 200) << path.key << " " << example.key << "\n" << heard.body;
        ++tried;
      }
    }
  }
  EXPECT_GE(tried, 8U);
}

TEST_F(OpenApiTest, ItIsServed) {
  const testing::Heard heard = Get("/openapi.json");
  EXPECT_EQ(heard.status, 200);
  EXPECT_EQ(heard.body, kOpenApi);
}

}  // namespace
}  // namespace sluice::api

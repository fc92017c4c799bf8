#include "api/http/openapi.h"

#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "api/http/routes.h"
#include "api/testing/http_server.h"
#include "control/rule_service.h"
#include "control/testing/fake_control_store.h"

namespace sluice::api {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

class OpenApiTest : public testing::HttpTest {
 protected:
  void SetUp() override {
    services_.envoy_state.emplace(services_.envoy_config, EnvoyOptions{});
    services_.rule_service = &rule_service_;
    ASSERT_EQ(parser_.parse(kOpenApi.data(), kOpenApi.size()).get(document_), simdjson::SUCCESS);
  }

  control::testing::FakeControlStore control_store_{services_.clock};
  control::RuleService rule_service_{control_store_, {.node = "n1"}};
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
  services_.next_rules = "rules: [{ id: other, limit: 10/h }]";
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
        std::string target(path.key);
        if (const auto at = target.find("{id}"); at != std::string::npos) {
          target.replace(at, 4, "example");
        }
        const testing::Heard heard = Request(verb, target, simdjson::minify(value));
        // A receipt in a document can't be one of this server, nor a slot be held.
        const std::string code = testing::TextOf(heard.body, "code");
        if (code == "INVALID_RECEIPT" || code == "SLOT_NOT_HELD") continue;
        const int expected = path.key == "/admin/v1/tokens" ? 201 : 200;
        EXPECT_EQ(heard.status, expected) << path.key << " " << example.key << "\n" << heard.body;
        ++tried;
      }
    }
  }
  EXPECT_GE(tried, 8U);
}

// As much of JSON Schema as the description of answers uses.
class Schema {
 public:
  explicit Schema(element document) : document_(document) {}

  [[nodiscard]] bool Holds(element schema, element value) const {
    std::string_view text;
    if (schema["$ref"].get(text) == simdjson::SUCCESS) {
      return Holds(document_.at_pointer(text.substr(1)).value(), value);
    }
    return HoldsOf(schema, "allOf", value, [](auto held, auto all) { return held == all; }) &&
           HoldsOf(schema, "anyOf", value, [](auto held, auto) { return held > 0; }) &&
           HoldsOf(schema, "oneOf", value, [](auto held, auto) { return held == 1; }) &&
           HasType(schema, value) && HasMembers(schema, value) && HasItems(schema, value);
  }

 private:
  template <typename Enough>
  bool HoldsOf(element schema, std::string_view name, element value, Enough enough) const {
    simdjson::dom::array choices;
    if (schema[name].get(choices) != simdjson::SUCCESS) return true;
    std::size_t held = 0;
    for (const element choice : choices) held += Holds(choice, value) ? 1 : 0;
    return enough(held, choices.size());
  }
  static bool IsOf(std::string_view type, element value) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_bool()) ||
           (type == "integer" && (value.is_int64() || value.is_uint64())) ||
           (type == "number" && value.is_number()) || (type == "null" && value.is_null());
  }
  static bool HasType(element schema, element value) {
    std::string_view one;
    if (schema["type"].get(one) == simdjson::SUCCESS) return IsOf(one, value);
    simdjson::dom::array several;
    if (schema["type"].get(several) != simdjson::SUCCESS) return true;
    for (const element type : several) {
      if (IsOf(type.get_string().value(), value)) return true;
    }
    return false;
  }
  [[nodiscard]] bool HasMembers(element schema, element value) const {
    object members;
    if (value.get(members) != simdjson::SUCCESS) return true;
    simdjson::dom::array required;
    if (schema["required"].get(required) == simdjson::SUCCESS) {
      for (const element name : required) {
        if (members[name.get_string().value()].error() != simdjson::SUCCESS) return false;
      }
    }
    for (const auto& member : members) {
      element described;
      if (schema["properties"][member.key].get(described) != simdjson::SUCCESS) continue;
      if (!Holds(described, member.value)) return false;
    }
    return true;
  }
  [[nodiscard]] bool HasItems(element schema, element value) const {
    simdjson::dom::array items;
    element described;
    if (value.get(items) != simdjson::SUCCESS ||
        schema["items"].get(described) != simdjson::SUCCESS) {
      return true;
    }
    for (const element item : items) {
      if (!Holds(described, item)) return false;
    }
    return true;
  }

  element document_;
};

TEST_F(OpenApiTest, AnswersToChecksAreAsItDescribesThem) {
  Load("rules: [{ id: api, algorithm: fixed_window, limit: 2, window: 60, max_cost: 5 }]");
  const element schema = document_["components"]["schemas"]["CheckAnswer"].value();
  for (const char* body :
       {R"({"key":"a"})", R"({"checks":[{"key":"a"},{"attributes":{"ip":"192.0.2.1"}}]})",
        R"({"checks":[{"key":"a"},{"key":"a"},{"key":"b","cost":9}]})",
        R"({"descriptors":[{"key":"a","limit":1},{"key":"b","limit":5,"type":"tokens"}]})"}) {
    const std::string answer = CheckBody(body).body;
    simdjson::dom::parser parser;
    const element value = parser.parse(answer.data(), answer.size()).value();
    EXPECT_TRUE(Schema(document_).Holds(schema, value)) << answer;
  }
}

TEST_F(OpenApiTest, ItIsServed) {
  const testing::Heard heard = Get("/openapi.json");
  EXPECT_EQ(heard.status, 200);
  EXPECT_EQ(heard.body, kOpenApi);
}

}  // namespace
}  // namespace sluice::api

#include "api/http/check_body.h"

#include <algorithm>
#include <array>

#include "api/http/call_fields.h"
#include "api/http/limit_fields.h"
#include "base/json_writer.h"
#include "base/key.h"
#include "base/parse_number.h"

namespace sluice::api {
namespace {

using limiter::CheckRequest;

constexpr std::size_t kMaxTypeBytes = 64;

// The value of an attribute: a text, a whole number or a truth value.
std::optional<std::string> ValueOf(const JsonValue& value) {
  if (const auto text = value.String()) return std::string(*text);
  if (const auto truth = value.Bool()) return *truth ? "true" : "false";
  const auto whole = ParseNumber<std::int64_t>(value.Number().value_or(""));
  return whole ? std::optional(std::to_string(*whole)) : std::nullopt;
}

bool IsTwice(const JsonValue& object, std::string_view name) {
  int count = 0;
  for (const JsonValue field : object) count += field.name() == name ? 1 : 0;
  return count > 1;
}

bool ReadAttributes(const HttpExchange& exchange, JsonFields& attributes, HttpCall::Part& part) {
  std::size_t count = 0;
  bool has_key = false;
  bool has_address = false;
  AddCertificate(exchange.peer, part.check);
  for (const JsonValue field : attributes.object()) {
    const auto value = ValueOf(field);
    if (!value) {
      return attributes.Fail(ProblemCode::kInvalidField, field.name(),
                             "must be a text, a whole number, true or false");
    }
    if (++count > kMaxAttributes) {
      return attributes.Fail(ProblemCode::kTooManyAttributes, field.name(),
                             KindOf(ProblemCode::kTooManyAttributes).meaning);
    }
    if (IsTwice(attributes.object(), field.name())) {
      return attributes.Fail(ProblemCode::kDuplicateField, field.name(), "is there twice");
    }
    if (field.name() == "api_key") {
      if (!IsKey(*value)) {
        return attributes.Fail(ProblemCode::kInvalidKey, field.name(),
                               KindOf(ProblemCode::kInvalidKey).meaning);
      }
      part.key = exchange.loop.Shown(*value);
      has_key = true;
    }
    if (field.name() == "ip") {
      if (value->empty()) continue;  // As good as absent.
      has_address = true;
    }
    part.check.Add(field.name(), *value);
  }
  if (count == 0) {
    return attributes.Fail(ProblemCode::kMissingField, "", "at least one attribute is needed");
  }
  // An administrator names another caller: its own address is not part of the call.
  const bool is_own_call = limiter::Takes(part.check.operation);
  if (is_own_call && !has_address &&
      !AddPeerAddress(exchange.services(), exchange.peer, has_key, part.check)) {
    return attributes.Fail(ProblemCode::kNoIdentity, "", KindOf(ProblemCode::kNoIdentity).meaning);
  }
  return true;
}

bool ReadKey(JsonFields& fields, std::string_view& key) {
  const auto text = fields.Text("key");
  if (!text) return fields.failed() ? false : fields.Missing("key");
  if (!IsKey(*text)) {
    return fields.Fail(ProblemCode::kInvalidKey, "key", KindOf(ProblemCode::kInvalidKey).meaning);
  }
  key = *text;
  return true;
}

bool MayBringLimits(const HttpExchange& exchange, JsonFields& fields, std::string_view name) {
  if (exchange.loop.options().limits_in_requests) return true;
  return fields.Fail(ProblemCode::kLimitsInRequestsOff, name,
                     KindOf(ProblemCode::kLimitsInRequestsOff).meaning);
}

struct Descriptor {
  std::string_view key{}, value{}, type = "requests";
  std::int64_t limit = 0, cost = 1;
  Micros window{0};
};

bool ReadDescriptor(JsonFields& fields, Descriptor& descriptor) {
  if (!fields.Only({"key", "value", "limit", "type", "window", "cost"})) return false;
  const auto key = fields.Text("key");
  if (key && !IsKey(*key)) {
    return fields.Fail(ProblemCode::kInvalidKey, "key", KindOf(ProblemCode::kInvalidKey).meaning);
  }
  if (const auto value = fields.Text("value")) {
    if (!value->empty() && !IsKey(*value)) {
      return fields.Fail(ProblemCode::kInvalidKey, "value",
                         "must have at most 256 bytes, none of them a control character");
    }
    descriptor.value = *value;
  }
  if (const auto type = fields.Text("type")) {
    if (!IsKey(*type) || type->size() > kMaxTypeBytes) {
      return fields.Fail(ProblemCode::kInvalidField, "type",
                         "must be a name such as requests or tokens");
    }
    descriptor.type = *type;
  }
  const auto limit = fields.Whole("limit", 1, kMaxAmount, ProblemCode::kInvalidLimit);
  if (const auto window = fields.Seconds("window")) descriptor.window = *window;
  if (const auto cost = fields.Whole("cost", 1, kMaxAmount, ProblemCode::kInvalidTokenCost)) {
    descriptor.cost = *cost;
  }
  if (fields.failed()) return false;
  if (!key) return fields.Missing("key");
  if (!limit) return fields.Missing("limit");
  descriptor.key = *key;
  descriptor.limit = *limit;
  return true;
}

std::string DescriptorLabel(const Descriptor& descriptor) {
  std::string label;
  JsonWriter json(label);
  json.BeginObject();
  json.Key("key").String(descriptor.key);
  json.Key("value").String(descriptor.value);
  json.Key("type").String(descriptor.type);
  json.Key("limit").Int(descriptor.limit);
  return label;
}

}  // namespace

bool ReadCaller(const HttpExchange& exchange, JsonFields& fields, HttpCall::Part& part) {
  const bool has_attributes = fields.Has("attributes");
  if (has_attributes && (fields.Has("key") || fields.Has("limit"))) {
    return fields.Fail(ProblemCode::kInvalidField, "attributes",
                       "is matched with the rules: `key` and `limit` can't be combined with it");
  }
  if (has_attributes) {
    auto attributes = fields.Object("attributes");
    return attributes && ReadAttributes(exchange, *attributes, part);
  }
  std::string_view key;
  if (!ReadKey(fields, key)) return false;
  part.key = exchange.loop.Shown(key);
  if (!fields.Has("limit")) {
    AddCertificate(exchange.peer, part.check);
    part.check.Add("api_key", key);
    if (limiter::Takes(part.check.operation) && !exchange.peer.address.empty()) {
      part.check.Add("ip", exchange.peer.address);
    }
    return true;
  }
  if (!MayBringLimits(exchange, fields, "limit")) return false;
  auto limit_fields = fields.Object("limit");
  if (!limit_fields) return false;
  const auto limit = ReadLimit(*limit_fields, exchange.loop.limits());
  if (!limit) return false;
  part.check.AddLimit({.scope = ":limit", .tag = part.key}, *limit, part.check.cost);
  part.check.SetCallerKey();
  part.measured.set(0);
  return true;
}

bool ReadCost(JsonFields& fields, CheckRequest& check) {
  if (const auto cost = fields.Whole("cost", 1, kMaxAmount, ProblemCode::kInvalidTokenCost)) {
    check.cost = *cost;
  }
  return !fields.failed();
}

std::optional<std::vector<UsedQuantity>> ReadUse(JsonFields& fields) {
  auto use = fields.Object("use");
  if (!use) return std::nullopt;
  std::vector<UsedQuantity> quantities;
  for (const JsonValue field : use->object()) {
    if (quantities.size() == rules::kMaxQuantities) {
      use->Fail(ProblemCode::kInvalidField, "",
                "has more than " + std::to_string(rules::kMaxQuantities) + " quantities");
      return std::nullopt;
    }
    if (IsTwice(use->object(), field.name())) {
      use->Fail(ProblemCode::kDuplicateField, field.name(), "is there twice");
      return std::nullopt;
    }
    const auto amount = use->Whole(field.name(), 0, kMaxAmount, ProblemCode::kInvalidField);
    if (!amount) return std::nullopt;
    quantities.push_back({field.name(), *amount});
  }
  return quantities;
}

namespace {

// By rules: the limits of requests have nothing but a cost.
bool ReadQuantifiedCheck(const HttpExchange& exchange, JsonFields& fields, HttpCall::Part& part) {
  for (const std::string_view other : {"cost", "limit"}) {
    if (!fields.Has(other)) continue;
    return fields.Fail(ProblemCode::kInvalidField, other, "can't be combined with `use`");
  }
  const auto use = ReadUse(fields);
  if (!use) return false;
  part.check.SetByQuantity();
  for (const UsedQuantity& quantity : *use) {
    part.check.AddQuantity(quantity.name, quantity.amount);
  }
  return ReadCaller(exchange, fields, part) && !fields.failed();
}

}  // namespace

bool ReadCheck(const HttpExchange& exchange, JsonFields& fields, HttpCall::Part& part) {
  if (!fields.Only({"attributes", "cost", "key", "limit", "receipt", "use"})) return false;
  part.gives_receipt = fields.Bool("receipt").value_or(true);
  if (fields.Has("use")) return ReadQuantifiedCheck(exchange, fields, part);
  // The cost first: a limit is asked with it.
  return ReadCost(fields, part.check) && ReadCaller(exchange, fields, part) && !fields.failed();
}

bool ReadDescriptors(const HttpExchange& exchange, JsonFields& fields, HttpCall& call) {
  if (!fields.Only({"descriptors", "receipt"})) return false;
  if (!MayBringLimits(exchange, fields, "descriptors")) return false;
  HttpCall::Part& part = call.Add();
  part.gives_receipt = fields.Bool("receipt").value_or(true);
  const auto array = fields.Array("descriptors");
  if (!array) return false;
  if (array->size() == 0) {
    return fields.Fail(ProblemCode::kMissingField, "descriptors", "must not be empty");
  }
  if (array->size() > kMaxLimitsPerCall) {
    return fields.Fail(ProblemCode::kTooManyDescriptors, "descriptors",
                       KindOf(ProblemCode::kTooManyDescriptors).meaning);
  }
  bool any_measured = false;
  std::size_t at = 0;
  std::string rest;
  for (const JsonValue value : *array) {
    const std::string path = "descriptors[" + std::to_string(at) + "]";
    if (!value.is_object()) {
      return fields.Fail(ProblemCode::kInvalidField, path, "must be an object");
    }
    JsonFields one(value, path, fields.problem());
    Descriptor descriptor{.window = exchange.loop.options().descriptor_window};
    if (!ReadDescriptor(one, descriptor)) return false;
    const auto limit =
        MakeDescriptorLimit(one, exchange.loop.limits(), descriptor.limit, descriptor.window);
    if (!limit) return false;
    const std::string window = std::to_string(descriptor.window.count());
    const std::array<std::string_view, 3> others = {descriptor.value, descriptor.type, window};
    rest.clear();
    AppendEncodedValues(others, rest);
    descriptor.key = exchange.loop.Shown(descriptor.key);
    part.check.AddLimit({.scope = ":descriptor", .tag = descriptor.key, .rest = rest}, *limit,
                        descriptor.cost);
    part.check.SetCallerKey();
    if (descriptor.type != "requests") any_measured = true;
    part.measured.set(at, descriptor.type != "requests");
    call.labels.push_back(DescriptorLabel(descriptor));
    ++at;
  }
  if (!any_measured) part.measured.set();
  return true;
}

}  // namespace sluice::api

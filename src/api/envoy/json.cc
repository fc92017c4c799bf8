// Envoy's service for those who don't speak gRPC: the same messages, as proto3 writes them in JSON.

#include <array>
#include <memory>

#include "api/envoy/check.h"
#include "api/http/json_body.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/parse_number.h"

namespace sluice::api {
namespace {

// Both spellings of a field; null stands for a field that is not there.
struct Name {
  std::string_view camel;
  std::string_view snake;
};
constexpr Name kDomain{"domain", "domain"};
constexpr Name kDescriptors{"descriptors", "descriptors"};
constexpr Name kHitsAddend{"hitsAddend", "hits_addend"};
constexpr Name kEntries{"entries", "entries"};
constexpr Name kLimit{"limit", "limit"};
constexpr Name kIsNegativeHits{"isNegativeHits", "is_negative_hits"};
constexpr Name kKey{"key", "key"};
constexpr Name kValue{"value", "value"};
constexpr Name kRequestsPerUnit{"requestsPerUnit", "requests_per_unit"};
constexpr Name kUnit{"unit", "unit"};

// By number. A request's limit has no weeks.
constexpr std::array<std::string_view, 8> kUnits = {"UNKNOWN", "SECOND", "MINUTE", "HOUR",
                                                    "DAY",     "MONTH",  "YEAR",   "WEEK"};
constexpr std::size_t kUnitsOfRequests = 7;

/// The fields of one message. The first error is kept in the problem.
class Message {
 public:
  Message(JsonValue fields, std::string path, Problem& problem)
      : fields_(fields), path_(std::move(path)), problem_(problem) {}

  bool Only(std::initializer_list<Name> names) {
    for (const JsonValue field : fields_) {
      int found = 0;
      for (const Name& name : names) {
        if (field.name() != name.camel && field.name() != name.snake) continue;
        for (const JsonValue other : fields_) {
          found += other.name() == name.camel || other.name() == name.snake ? 1 : 0;
        }
      }
      if (found == 0) return Fail(ProblemCode::kUnknownField, field.name(), "unknown field");
      if (found > 1) return Fail(ProblemCode::kDuplicateField, field.name(), "is there twice");
    }
    return true;
  }

  bool Text(const Name& name, std::string_view& text) {
    const auto value = Find(name);
    if (value && !value->String()) return Wrong(name, "must be a string");
    if (value) text = *value->String();
    return true;
  }
  bool Bool(const Name& name, bool& flag) {
    const auto value = Find(name);
    if (value && !value->Bool()) return Wrong(name, "must be true or false");
    if (value) flag = *value->Bool();
    return true;
  }
  // A number, or its digits in a string.
  bool Whole(const Name& name, std::uint64_t most, std::uint64_t& number) {
    const auto value = Find(name);
    return !value || (ReadWhole(*value, number) && number <= most) ||
           Wrong(name, "must be a whole number from 0 to " + std::to_string(most));
  }
  // By its name or its number.
  bool Unit(const Name& name, std::uint32_t& unit) {
    const auto value = Find(name);
    if (!value) return true;
    if (const auto text = value->String()) {
      for (unit = 0; unit < kUnitsOfRequests; ++unit) {
        if (kUnits[unit] == text) return true;
      }
      return Wrong(name, "must be SECOND, MINUTE, HOUR, DAY, MONTH or YEAR");
    }
    std::uint64_t number = 0;
    if (!ReadWhole(*value, number) || number > 0x7FFFFFFF) return Wrong(name, "must be a unit");
    unit = static_cast<std::uint32_t>(number);
    return true;
  }
  template <typename Read>
  bool Each(const Name& name, const Read& read) {
    const auto value = Find(name);
    if (!value) return true;
    if (!value->is_array()) return Wrong(name, "must be an array");
    std::size_t at = 0;
    for (const JsonValue one : *value) {
      const std::string path = PathOf(name.camel) + "[" + std::to_string(at++) + "]";
      if (!one.is_object()) {
        problem_ = {
            .code = ProblemCode::kInvalidField, .field = path, .detail = "must be an object"};
        return false;
      }
      Message message(one, path, problem_);
      if (!read(message)) return false;
    }
    return true;
  }
  template <typename Read>
  bool One(const Name& name, const Read& read) {
    const auto value = Find(name);
    if (!value) return true;
    if (!value->is_object()) return Wrong(name, "must be an object");
    Message message(*value, PathOf(name.camel), problem_);
    return read(message);
  }
  [[nodiscard]] bool Has(const Name& name) const { return Find(name).has_value(); }

 private:
  [[nodiscard]] std::optional<JsonValue> Find(const Name& name) const {
    for (const JsonValue field : fields_) {
      if ((field.name() == name.camel || field.name() == name.snake) && !field.is_null()) {
        return field;
      }
    }
    return std::nullopt;
  }
  static bool ReadWhole(const JsonValue& value, std::uint64_t& number) {
    const auto text = value.String() ? value.String() : value.Number();
    if (!text) return false;
    auto whole = ParseNumber<std::uint64_t>(*text);
    const auto written_otherwise = whole ? std::nullopt : value.Whole();
    if (written_otherwise >= 0) whole = static_cast<std::uint64_t>(*written_otherwise);
    number = whole.value_or(0);
    return whole.has_value();
  }
  [[nodiscard]] std::string PathOf(std::string_view name) const {
    return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
  }
  bool Fail(ProblemCode code, std::string_view name, std::string detail) {
    problem_ = {.code = code, .field = PathOf(name), .detail = std::move(detail)};
    return false;
  }
  bool Wrong(const Name& name, std::string detail) {
    return Fail(ProblemCode::kInvalidField, name.camel, std::move(detail));
  }

  JsonValue fields_;
  std::string path_;
  Problem& problem_;
};

constexpr std::uint64_t kMost32 = 0xFFFFFFFFU;

bool ReadDescriptor(Message& message, EnvoyRequest& request) {
  EnvoyDescriptor& descriptor =
      request.descriptors.emplace_back(EnvoyDescriptor{.first_entry = request.entries.size()});
  if (!message.Only({kEntries, kLimit, kHitsAddend, kIsNegativeHits})) return false;
  const bool entries_are_right = message.Each(kEntries, [&](Message& fields) {
    envoy::Entry& entry = request.entries.emplace_back();
    return fields.Only({kKey, kValue}) && fields.Text(kKey, entry.key) &&
           fields.Text(kValue, entry.value);
  });
  descriptor.entries = request.entries.size() - descriptor.first_entry;
  if (message.Has(kHitsAddend)) descriptor.hits = 0;
  return entries_are_right &&
         message.One(kLimit,
                     [&](Message& fields) {
                       EnvoyOverride& limit = descriptor.limit.emplace();
                       std::uint64_t requests = 0;
                       const bool is_right = fields.Only({kRequestsPerUnit, kUnit}) &&
                                             fields.Whole(kRequestsPerUnit, kMost32, requests) &&
                                             fields.Unit(kUnit, limit.unit);
                       limit.requests_per_unit = static_cast<std::uint32_t>(requests);
                       return is_right;
                     }) &&
         (!descriptor.hits || message.Whole(kHitsAddend, UINT64_MAX, *descriptor.hits)) &&
         message.Bool(kIsNegativeHits, descriptor.gives_back);
}

bool ReadRequest(Message& message, EnvoyRequest& request) {
  request.Clear();
  std::uint64_t hits = 0;
  const bool is_right =
      message.Only({kDomain, kDescriptors, kHitsAddend}) && message.Text(kDomain, request.domain) &&
      message.Whole(kHitsAddend, kMost32, hits) &&
      message.Each(kDescriptors, [&](Message& fields) { return ReadDescriptor(fields, request); });
  request.hits_addend = static_cast<std::uint32_t>(hits);
  return is_right;
}

std::string_view NameOf(EnvoyCode code) {
  return code == EnvoyCode::kOk ? "OK" : code == EnvoyCode::kOverLimit ? "OVER_LIMIT" : "UNKNOWN";
}

// Default values of proto3 (0, "", UNKNOWN) are omitted.
void WriteStatus(const EnvoyStatus& status, JsonWriter& json) {
  json.BeginObject();
  json.Key("code").String(NameOf(status.code));
  if (status.has_limit) {
    json.Key("currentLimit").BeginObject();
    if (!status.name.empty()) json.Key("name").String(status.name);
    if (status.requests_per_unit > 0) json.Key("requestsPerUnit").Uint(status.requests_per_unit);
    if (status.unit != envoy::Unit::kUnknown)
      json.Key("unit").String(kUnits[static_cast<std::size_t>(status.unit)]);
    json.EndObject();
  }
  if (status.remaining > 0) json.Key("limitRemaining").Uint(status.remaining);
  if (status.has_limit) {
    json.Key("durationUntilReset").String(std::to_string(status.reset_seconds) + "s");
  }
  json.EndObject();
}

void Respond(EnvoyCheck& check, const limiter::CheckRequest* asked, wire::HttpResponse& response) {
  JsonWriter json(response.BeginBody("application/json"));
  json.BeginObject();
  json.Key("overallCode").String(NameOf(check.code()));
  json.Key("statuses").BeginArray();
  for (std::size_t i = 0; i < check.size(); ++i) WriteStatus(check.StatusOf(i), json);
  json.EndArray();
  const EnvoyHeaders& headers = check.MakeHeaders(asked);
  if (headers.size() > 0) {
    json.Key("responseHeadersToAdd").BeginArray();
    for (std::size_t i = 0; i < headers.size(); ++i) {
      json.BeginObject().Key("key").String(headers.name(i));
      json.Key("value").String(headers.value(i)).EndObject();
    }
    json.EndArray();
  }
  json.EndObject();
  response.EndBody();
}

int HttpStatusOf(const EnvoyCheck& check) {
  return check.code() == EnvoyCode::kOverLimit ? 429 : 200;
}

EnvoyCheck& CheckOf(const HttpCall& call) { return *static_cast<EnvoyCheck*>(call.kept.get()); }

void Answer(HttpCall& call, std::string& out) {
  EnvoyCheck& check = CheckOf(call);
  const bool is_right = check.error().empty();
  wire::HttpResponse response(out, is_right ? HttpStatusOf(check) : 400,
                              call.loop.services().http_date(), call.response_options);
  if (!is_right) {
    return FinishWithProblem(
        {.code = ProblemCode::kInvalidBody, .detail = std::string(check.error())}, response);
  }
  Respond(check, check.has_check() ? &call.part(0).check : nullptr, response);
}

}  // namespace

void RunEnvoyJson(HttpExchange& exchange) {
  EnvoyState* const state = exchange.services().envoy();
  if (state == nullptr) return exchange.Refuse({.code = ProblemCode::kNotFound});
  Problem problem;
  const auto body = exchange.loop.json().Read(exchange.request.body, problem);
  if (!body) return exchange.Refuse(problem);
  const auto check = std::make_shared<EnvoyCheck>();
  Message message(body->object(), {}, problem);
  if (!ReadRequest(message, check->request)) return exchange.Refuse(problem);
  if (const auto error = check->Match(*state, exchange.services(), exchange.peer, Protocol::kHttp);
      !error.empty()) {
    return exchange.Refuse({.code = ProblemCode::kInvalidBody, .detail = std::string(error)});
  }
  if (!check->has_check() && !check->has_refund()) {
    exchange.services().counters().calls[Protocol::kHttp][check->outcome_without_limits()].Add();
    wire::HttpResponse response = exchange.Respond(HttpStatusOf(*check));
    return Respond(*check, nullptr, response);
  }
  HttpCall& call = exchange.MakeCall(Answer);
  if (check->has_check()) check->FillCheck(call.Add().check);
  if (check->has_refund()) check->FillRefund(call.Add().check);
  call.on_decided = [](CheckCall::Part& part) { CheckOf(HttpCallOf(part)).TakeNote(part.check); };
  call.kept = check;
}

void RunHealthCheck(HttpExchange& exchange) {
  const bool ready = exchange.admin().CheckHealth().ready;
  exchange.Respond(ready ? 200 : 500).Finish("text/plain", ready ? "OK" : "");
}

}  // namespace sluice::api

#include <chrono>
#include <optional>
#include <string>

#include "api/admin/admin_services.h"
#include "api/admin/key_services.h"
#include "api/admin/task_route.h"
#include "api/http/routes.h"
#include "base/json_writer.h"

/// The state of the store: /admin/v1/store.
namespace sluice::api {
namespace {

void AppendNumber(std::string_view name, const std::optional<std::int64_t>& number,
                  JsonWriter& json) {
  json.Key(name);
  number ? json.Int(*number) : json.Null();
}

void AppendText(std::string_view name, const std::string& text, JsonWriter& json) {
  json.Key(name);
  text.empty() ? json.Null() : json.String(text);
}

void AppendRedis(const RedisReport& report, JsonWriter& json) {
  json.BeginObject();
  json.Key("name").String(report.name);
  AppendText("error", report.error, json);
  AppendText("version", report.version, json);
  AppendText("role", report.role, json);
  AppendNumber("keys", report.keys, json);
  AppendNumber("used_bytes", report.used_bytes, json);
  AppendNumber("max_bytes", report.max_bytes, json);
  AppendNumber("operations_per_second", report.operations_per_second, json);
  AppendNumber("evicted_keys", report.evicted_keys, json);
  AppendNumber("slow_log_length", report.slow_log_length, json);
  json.Key("clock_offset_ms");
  if (report.clock_ahead) {
    json.Double(std::chrono::duration<double, std::milli>(*report.clock_ahead).count());
  } else {
    json.Null();
  }
  json.Key("replicas").BeginArray();
  for (const ReplicaReport& replica : report.replicas) {
    json.BeginObject();
    json.Key("address").String(replica.address);
    json.Key("state").String(replica.state);
    json.Key("lag_bytes").Int(replica.lag_bytes);
    json.Key("lag_seconds").Int(replica.lag_seconds);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

void AppendMemory(const StoreReport& report, JsonWriter& json) {
  const store::MemoryStoreStats& memory = *report.memory;
  json.BeginObject();
  json.Key("keys").Uint(memory.keys);
  json.Key("max_keys").Uint(memory.max_keys);
  json.Key("used_bytes").Uint(memory.bytes);
  json.Key("max_bytes").Uint(memory.max_bytes);
  json.Key("expired_keys").Uint(memory.expired);
  json.Key("refused_calls").Uint(memory.refused);
  json.Key("request_keys").Uint(memory.caller_keys);
  json.Key("max_request_keys").Uint(memory.max_caller_keys);
  json.Key("named_keys").Uint(report.named_keys);
  json.EndObject();
}

}  // namespace

void RunGetStore(HttpExchange& exchange) {
  RunKeyTask(exchange, [](KeyServices& services) {
    const StoreReport report = services.ReportStore();
    TaskReply reply;
    JsonWriter json(reply.body);
    json.BeginObject();
    json.Key("kind").String(report.memory ? "memory" : "redis");
    json.Key("memory");
    report.memory ? AppendMemory(report, json) : static_cast<void>(json.Null());
    json.Key("redis").BeginArray();
    for (const RedisReport& one : report.redis) AppendRedis(one, json);
    json.EndArray().EndObject();
    return reply;
  });
}

}  // namespace sluice::api

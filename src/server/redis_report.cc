#include "server/redis_report.h"

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/parse_number.h"

namespace sluice::server {
namespace {

// A member of a list such as "ip=10.0.0.2,port=6379,state=online".
std::string_view MemberOf(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view member = list.substr(0, comma);
    if (member.starts_with(name) && member.substr(name.size()).starts_with('=')) {
      return member.substr(name.size() + 1);
    }
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return {};
}

std::int64_t NumberIn(std::string_view text) { return ParseNumber<std::int64_t>(text).value_or(0); }

bool IsReplica(std::string_view name) {
  return name.starts_with("slave") && ParseNumber<std::uint32_t>(name.substr(5)).has_value();
}

}  // namespace

void ReadInfo(std::string_view info, api::RedisReport& report) {
  std::int64_t offset = 0;
  while (!info.empty()) {
    const std::size_t end = info.find("\r\n");
    const std::string_view line = info.substr(0, end);
    info = end == std::string_view::npos ? std::string_view{} : info.substr(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = line.substr(colon + 1);
    if (name == "redis_version" || name == "valkey_version") {
      report.version = value;
    } else if (name == "role") {
      report.role = value;
    } else if (name == "used_memory") {
      report.used_bytes = NumberIn(value);
    } else if (name == "maxmemory") {
      report.max_bytes = NumberIn(value);
    } else if (name == "instantaneous_ops_per_sec") {
      report.operations_per_second = NumberIn(value);
    } else if (name == "evicted_keys") {
      report.evicted_keys = NumberIn(value);
    } else if (name == "master_repl_offset") {
      offset = NumberIn(value);
    } else if (IsReplica(name)) {
      report.replicas.push_back({.address = std::string(MemberOf(value, "ip")) + ":" +
                                            std::string(MemberOf(value, "port")),
                                 .state = std::string(MemberOf(value, "state")),
                                 .lag_bytes = NumberIn(MemberOf(value, "offset")),
                                 .lag_seconds = NumberIn(MemberOf(value, "lag"))});
    }
  }
  for (api::ReplicaReport& replica : report.replicas) {
    replica.lag_bytes = std::max<std::int64_t>(offset - replica.lag_bytes, 0);
  }
}

api::RedisReport ReportOn(const redis::PrimaryClients::Primary& primary, Micros timeout) {
  api::RedisReport report{.name = primary.name};
  const auto ask = [&](std::initializer_list<std::string_view> command) {
    auto reply = redis::CallPrimary(primary, command, timeout);
    if (!reply && report.error.empty()) report.error = reply.error().message;
    return reply;
  };
  const WallTime sent = TheSystemClock().Now();
  const auto time = ask({"TIME"});
  // A server that does not answer is asked no more.
  if (!time && time.error().code == ErrorCode::kStoreUnavailable) return report;
  const WallTime received = TheSystemClock().Now();
  if (time && time->reply().size() == 2) {
    const auto seconds = time->reply().at(0).ToInteger().value_or(0);
    const auto micros = time->reply().at(1).ToInteger().value_or(0);
    const WallTime there{Micros{seconds * 1'000'000 + micros}};
    report.clock_ahead = there - (sent + (received - sent) / 2);
  }
  if (const auto info = ask({"INFO"})) ReadInfo(info->reply().text(), report);
  if (const auto keys = ask({"DBSIZE"})) report.keys = keys->reply().integer();
  if (const auto slow = ask({"SLOWLOG", "LEN"})) report.slow_log_length = slow->reply().integer();
  return report;
}

}  // namespace sluice::server

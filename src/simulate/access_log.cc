#include "simulate/access_log.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>

#include "base/network.h"
#include "base/timestamp.h"
#include "simulate/trace_time.h"

namespace sluice::simulate {
namespace {

constexpr std::array<std::string_view, 5> kColumns{"ip", "user", "method", "host", "endpoint"};

// Names in JSON logs, the most specific first.
constexpr std::string_view kTimeNames[] = {"time_iso8601", "msec", "@timestamp", "timestamp",
                                           "time",         "ts",   "time_local"};
constexpr std::string_view kIpNames[] = {"remote_addr", "client_ip", "clientip", "ip", "client"};
constexpr std::string_view kUserNames[] = {"remote_user", "user"};
constexpr std::string_view kMethodNames[] = {"request_method", "method", "verb"};
constexpr std::string_view kPathNames[] = {"request_uri", "uri", "path", "url"};
constexpr std::string_view kHostNames[] = {"http_host", "host", "server_name"};
constexpr std::string_view kDurationNames[] = {"request_time", "duration"};

// "15/Nov/2026:12:00:00 +0100"
std::optional<WallTime> ParseLogTime(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr std::size_t kSize = 26;
  if (text.size() != kSize || text[2] != '/' || text[6] != '/' || text[11] != ':' ||
      text[20] != ' ') {
    return std::nullopt;
  }
  const std::size_t month = kMonths.find(text.substr(3, 3));
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  const std::size_t number = month / 3 + 1;
  std::string date(text.substr(7, 4));
  date += number < 10 ? "-0" : "-";
  date += std::to_string(number);
  date += '-';
  date += text.substr(0, 2);
  date += 'T';
  date += text.substr(12, 8);
  date += text.substr(21);
  return ParseTime(date);
}

void AddAttribute(std::string_view name, std::string_view value, TraceRow& row) {
  if (!value.empty() && value != "-") row.attributes.push_back({name, value});
}

// "GET /v1/orders?page=2 HTTP/1.1": false if it is no request.
bool AddRequest(std::string_view request, TraceRow& row) {
  const std::size_t method_end = request.find(' ');
  if (method_end == std::string_view::npos || method_end == 0) return false;
  const std::string_view method = request.substr(0, method_end);
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || c == '-' || c == '_'; };
  if (!std::all_of(method.begin(), method.end(), is_letter)) return false;
  request.remove_prefix(method_end + 1);
  const std::string_view path = request.substr(0, request.find(' '));
  if (path.empty()) return false;
  AddAttribute("method", method, row);
  // Without the query, which may have secrets and is no part of what rules see.
  AddAttribute("endpoint", path.substr(0, path.find_first_of("?#")), row);
  return true;
}

bool AddAddress(std::string_view text, TraceRow& row) {
  if (!ParseAddress(text)) return false;
  AddAttribute("ip", text, row);
  return true;
}

// The text between quotes at the front; nothing if these have no end.
std::optional<std::string_view> QuotedFront(std::string_view text) {
  if (!text.starts_with('"')) return std::nullopt;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return text.substr(1, i - 1);
    }
  }
  return std::nullopt;
}

// The text of the first member that has one.
std::optional<std::string_view> FindText(const JsonValue& object,
                                         std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const auto value = object.Find(name);
    if (!value) continue;
    if (const auto text = value->String(); text && !text->empty()) return text;
    if (value->Number()) return value->raw();
  }
  return std::nullopt;
}

}  // namespace

std::string AccessLogParser::Read(std::string_view line, TraceRow& row) {
  row.cost = 1;
  row.duration.reset();
  row.attributes.clear();
  return line.starts_with('{') ? ReadJson(line, row) : ReadText(line, row);
}

std::string AccessLogParser::ReadText(std::string_view line, TraceRow& row) {
  const std::size_t address_end = line.find(' ');
  const std::size_t identity_end = line.find(' ', address_end + 1);
  const std::size_t time_begin = line.find(" [", identity_end);
  if (address_end == std::string_view::npos || identity_end == std::string_view::npos ||
      time_begin == std::string_view::npos) {
    return "not a line of an access log";
  }
  const std::size_t time_end = line.find("] ", time_begin);
  if (time_end == std::string_view::npos) return "not a line of an access log";
  const auto time = ParseLogTime(line.substr(time_begin + 2, time_end - time_begin - 2));
  if (!time) return "the time is not one such as 15/Nov/2026:12:00:00 +0100";
  row.time = *time;
  if (!AddAddress(line.substr(0, address_end), row)) return "the client is not an IP address";
  if (time_begin > identity_end) {
    AddAttribute("user", line.substr(identity_end + 1, time_begin - identity_end - 1), row);
  }
  const auto request = QuotedFront(line.substr(time_end + 2));
  if (!request || !AddRequest(*request, row)) return "the request has no method and path";
  return {};
}

std::string AccessLogParser::ReadJson(std::string_view line, TraceRow& row) {
  const auto object = document_.Parse(line);
  if (!object || !object->is_object()) return "not a JSON object";
  const auto time_text = FindText(*object, kTimeNames);
  if (!time_text) return "has no time";
  auto time = ParseTime(*time_text);
  if (!time) time = ParseLogTime(*time_text);
  if (!time) return "the time can't be read";
  row.time = *time;
  const auto address = FindText(*object, kIpNames);
  if (!address || !AddAddress(*address, row)) return "has no IP address of a client";
  AddAttribute("user", FindText(*object, kUserNames).value_or(""), row);
  AddAttribute("host", FindText(*object, kHostNames).value_or(""), row);
  if (const auto duration = FindText(*object, kDurationNames)) {
    row.duration = ParseSeconds(*duration);
  }
  const auto method = FindText(*object, kMethodNames);
  const auto path = FindText(*object, kPathNames);
  if (method && path) {
    AddAttribute("method", *method, row);
    AddAttribute("endpoint", path->substr(0, path->find_first_of("?#")), row);
    return {};
  }
  constexpr std::string_view kRequest[] = {"request"};
  const auto request = FindText(*object, kRequest);
  if (!request || !AddRequest(*request, row)) return "the request has no method and path";
  return {};
}

std::string_view LogTraceHeader() { return "time,ip,user,method,host,endpoint,duration\n"; }

void AppendLogTraceRow(const TraceRow& row, std::string& out) {
  out += FormatTimestamp(row.time);
  for (const std::string_view column : kColumns) {
    out += ',';
    const auto found =
        std::find_if(row.attributes.begin(), row.attributes.end(),
                     [&](const Attribute& attribute) { return attribute.name == column; });
    if (found == row.attributes.end()) continue;
    if (found->value.find_first_of(",\"\r\n") == std::string_view::npos) {
      out += found->value;
      continue;
    }
    out += '"';
    for (const char c : found->value) out.append(c == '"' ? 2 : 1, c);
    out += '"';
  }
  out += ',';
  if (row.duration) {
    std::array<char, 32> text;
    const int size = std::snprintf(text.data(), text.size(), "%lld.%06lld",
                                   static_cast<long long>(row.duration->count() / 1'000'000),
                                   static_cast<long long>(row.duration->count() % 1'000'000));
    out.append(text.data(), static_cast<std::size_t>(size));
  }
  out += '\n';
}

}  // namespace sluice::simulate

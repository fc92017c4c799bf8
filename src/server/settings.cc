#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

#include "server/config.h"

namespace sluice::server {
namespace {

using Mistake = std::optional<std::string>;

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

Mistake ReadNumber(std::string_view text, std::size_t least, std::size_t most,
                   std::size_t& number) {
  std::size_t read = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), read);
  if (end.ec == std::errc() && end.ptr == text.data() + text.size() && read >= least &&
      read <= most) {
    number = read;
    return std::nullopt;
  }
  return Quoted(text) + " is not a whole number from " + std::to_string(least) + " to " +
         std::to_string(most);
}

struct Unit {
  std::string_view name;
  std::int64_t micros;
};
constexpr std::array<Unit, 5> kUnits{
    {{"us", 1}, {"ms", 1'000}, {"s", 1'000'000}, {"m", 60'000'000}, {"h", 3'600'000'000}}};

Mistake ReadDuration(std::string_view text, Micros& duration) {
  constexpr std::int64_t kMost = 86'400'000'000;
  std::int64_t count = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit(end.ptr,
                              static_cast<std::size_t>(text.data() + text.size() - end.ptr));
  for (const Unit& known : kUnits) {
    if (end.ec != std::errc() || unit != known.name || count < 0) continue;
    if (count > kMost / known.micros) break;
    duration = Micros{count * known.micros};
    return std::nullopt;
  }
  return Quoted(text) + " is not a duration up to a day such as 250ms, 10s or 5m";
}

std::string PrintDuration(Micros duration) {
  const std::int64_t micros = duration.count();
  for (auto unit = kUnits.rbegin(); unit != kUnits.rend(); ++unit) {
    if (micros != 0 && micros % unit->micros == 0) {
      return std::to_string(micros / unit->micros) + std::string(unit->name);
    }
  }
  return "0s";
}

Mistake ReadOneOf(std::string_view text, std::initializer_list<std::string_view> choices,
                  std::string& chosen) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) {
    chosen = text;
    return std::nullopt;
  }
  std::string mistake = Quoted(text) + " is none of";
  for (const std::string_view choice : choices) mistake += " " + std::string(choice);
  return mistake;
}

Mistake ReadFlag(std::string_view text, bool& value) {
  const bool is_true = text == "true" || text == "on" || text == "yes" || text == "1";
  const bool is_false = text == "false" || text == "off" || text == "no" || text == "0";
  if (!is_true && !is_false) return Quoted(text) + " is neither true nor false";
  value = is_true;
  return std::nullopt;
}

// Separated by commas; "none" is an empty list.
std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty() && text != "none") {
    const auto comma = std::min(text.find(','), text.size());
    if (comma > 0) items.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

std::string JoinList(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
  return text.empty() ? "none" : text;
}

Mistake ReadLabels(std::string_view text, std::map<std::string, std::string>& labels) {
  std::map<std::string, std::string> read;
  for (const std::string& item : SplitList(text)) {
    const auto equals = item.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Quoted(item) + " is not a label such as region=eu";
    }
    read[item.substr(0, equals)] = item.substr(equals + 1);
  }
  labels = std::move(read);
  return std::nullopt;
}

std::string PrintLabels(const std::map<std::string, std::string>& labels) {
  std::vector<std::string> items;
  for (const auto& [name, value] : labels) items.push_back(name + "=" + value);
  return JoinList(items);
}

// The password of a URL stands between the first colon after "://" and the last '@' before the
// path.
std::string WithoutPassword(const std::string& url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const auto begin = scheme + 3;
  const auto at = url.substr(0, url.find_first_of("/?", begin)).rfind('@');
  if (at == std::string::npos) return url;
  const auto colon = url.find(':', begin);
  if (colon > at) return url;
  return url.substr(0, colon + 1) + "********" + url.substr(at);
}

// Each field knows its own name only once: the type says how it is read and printed.
template <auto Field>
Mistake SetText(Config& config, std::string_view text) {
  config.*Field = text;
  return std::nullopt;
}
template <auto Field>
std::string GetText(const Config& config) {
  return config.*Field;
}
template <auto Field>
Mistake SetList(Config& config, std::string_view text) {
  config.*Field = SplitList(text);
  return std::nullopt;
}
template <auto Field>
std::string GetList(const Config& config) {
  return JoinList(config.*Field);
}
template <auto Field, std::size_t least, std::size_t most>
Mistake SetNumber(Config& config, std::string_view text) {
  return ReadNumber(text, least, most, config.*Field);
}
template <auto Field>
std::string GetNumber(const Config& config) {
  return std::to_string(config.*Field);
}
template <auto Field>
Mistake SetDuration(Config& config, std::string_view text) {
  return ReadDuration(text, config.*Field);
}
template <auto Field>
std::string GetDuration(const Config& config) {
  return PrintDuration(config.*Field);
}

constexpr std::size_t kMany = std::numeric_limits<std::int64_t>::max();

constexpr auto kSettings = std::to_array<Setting>({
    {"http.listen", "http", "ADDRESS[,…]",
     "Where HTTP is spoken: 127.0.0.1:8080, [::1]:8080, :8080 "
     "(every address), unix:/path, or none.",
     false, SetList<&Config::http_listen>, GetList<&Config::http_listen>},
    {"http.headers", "", "STYLE", "x-ratelimit, draft-6, draft-7, draft-10 or none.", false,
     [](Config& config, std::string_view text) {
       return ReadOneOf(text, {"x-ratelimit", "draft-6", "draft-7", "draft-10", "none"},
                        config.header_style);
     },
     GetText<&Config::header_style>},
    {"http.retry_after_jitter", "", "PERCENT",
     "So much is added to Retry-After at random, so that "
     "denied clients don't come back together.",
     false, SetNumber<&Config::retry_after_jitter_percent, 0, 1000>,
     GetNumber<&Config::retry_after_jitter_percent>},
    {"http.limits_in_requests", "", "true|false", "Whether requests may bring limits of their own.",
     false,
     [](Config& config, std::string_view text) {
       return ReadFlag(text, config.limits_in_requests);
     },
     [](const Config& config) -> std::string {
       return config.limits_in_requests ? "true" : "false";
     }},
    {"resp.listen", "resp", "ADDRESS[,…]", "Where the Redis protocol is spoken.", false,
     SetList<&Config::resp_listen>, GetList<&Config::resp_listen>},
    {"threads", "", "N", "Event loops; 0 is one for each core.", false,
     SetNumber<&Config::threads, 0, 1024>, GetNumber<&Config::threads>},
    {"rules", "", "FILE", "The rules. Without it, the example rules.", false,
     SetText<&Config::rules>, GetText<&Config::rules>},
    {"enforcement", "", "on|shadow|off",
     "Whether limits deny, are only judged, or are not looked at.", false,
     [](Config& config, std::string_view text) {
       return ReadOneOf(text, {"on", "shadow", "off"}, config.enforcement);
     },
     GetText<&Config::enforcement>},
    {"store", "", "memory|URL",
     "Where limits live: memory, or redis://…, rediss://…, unix://…, redis-sentinel://…, "
     "redis-cluster://….",
     false, SetText<&Config::store>,
     [](const Config& config) { return WithoutPassword(config.store); }},
    {"redis_file", "", "FILE", "Where Redis is, as YAML; in place of a URL.", false,
     SetText<&Config::redis_file>, GetText<&Config::redis_file>},
    {"store_deadline", "", "DURATION", "How long a check waits for Redis.", false,
     SetDuration<&Config::store_deadline>, GetDuration<&Config::store_deadline>},
    {"memory.max_keys", "", "N",
     "Keys that matter held in memory; past it, new ones get their rule's "
     "failure mode.",
     false, SetNumber<&Config::memory_max_keys, 1, 10'000'000'000>,
     GetNumber<&Config::memory_max_keys>},
    {"memory.max_bytes", "", "BYTES", "Ceiling for what keys occupy; 0: what max_keys needs.",
     false, SetNumber<&Config::memory_max_bytes, 0, kMany>, GetNumber<&Config::memory_max_bytes>},
    {"admin.token", "", "TOKEN",
     "Who shows it may reset, grant and inspect. Without one, local "
     "clients may.",
     true, SetText<&Config::admin_token>, GetText<&Config::admin_token>},
    {"admin.token_file", "", "FILE", "A file with the token.", false,
     SetText<&Config::admin_token_file>, GetText<&Config::admin_token_file>},
    {"receipts.secret_file", "", "FILE",
     "A file with the secret that receipts are signed with. "
     "Without it, each start makes its own.",
     false, SetText<&Config::receipt_secret_file>, GetText<&Config::receipt_secret_file>},
    {"limits.connections", "", "N", "Connections in all; 0: no bound.", false,
     SetNumber<&Config::max_connections, 0, kMany>, GetNumber<&Config::max_connections>},
    {"limits.connections_per_address", "", "N", "Connections of one address; 0: no bound.", false,
     SetNumber<&Config::max_connections_per_address, 0, kMany>,
     GetNumber<&Config::max_connections_per_address>},
    {"limits.header_bytes", "", "BYTES", "Of one HTTP request's headers.", false,
     SetNumber<&Config::max_header_bytes, 256, 1 << 20>, GetNumber<&Config::max_header_bytes>},
    {"limits.body_bytes", "", "BYTES", "Of one HTTP request's body.", false,
     SetNumber<&Config::max_body_bytes, 0, 1 << 30>, GetNumber<&Config::max_body_bytes>},
    {"limits.pipelined", "", "N", "Requests of one connection that wait for the store.", false,
     SetNumber<&Config::max_pipelined, 1, 1'000'000>, GetNumber<&Config::max_pipelined>},
    {"limits.output_bytes", "", "BYTES", "Answers that one client has not taken.", false,
     SetNumber<&Config::max_output_bytes, 4096, kMany>, GetNumber<&Config::max_output_bytes>},
    {"limits.idle_timeout", "", "DURATION", "For a client that asks nothing; 0s: for ever.", false,
     SetDuration<&Config::idle_timeout>, GetDuration<&Config::idle_timeout>},
    {"limits.request_timeout", "", "DURATION", "From a request's first byte to its last.", false,
     SetDuration<&Config::request_timeout>, GetDuration<&Config::request_timeout>},
    {"drain_timeout", "", "DURATION", "For requests under way when the server ends.", false,
     SetDuration<&Config::drain_timeout>, GetDuration<&Config::drain_timeout>},
    {"log.format", "", "text|json", "How log lines are written.", false,
     [](Config& config, std::string_view text) {
       return ReadOneOf(text, {"text", "json"}, config.log_format);
     },
     GetText<&Config::log_format>},
    {"log.level", "", "LEVEL", "error, warn, info or debug.", false,
     [](Config& config, std::string_view text) {
       return ReadOneOf(text, {"error", "warn", "info", "debug"}, config.log_level);
     },
     GetText<&Config::log_level>},
    {"metrics.labels", "", "NAME=VALUE[,…]", "Labels of every metric.", false,
     [](Config& config, std::string_view text) { return ReadLabels(text, config.metrics_labels); },
     [](const Config& config) { return PrintLabels(config.metrics_labels); }},
});

}  // namespace

std::span<const Setting> Settings() { return kSettings; }

std::string Setting::flag() const {
  std::string text = "--" + std::string(name);
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '.' || c == '_'; }, '-');
  return text;
}

std::string Setting::variable() const {
  std::string text = "SLUICE_" + std::string(name);
  for (char& c : text) c = c == '.' ? '_' : static_cast<char>(std::toupper(c));
  return text;
}

}  // namespace sluice::server

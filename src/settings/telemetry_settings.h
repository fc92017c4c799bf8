#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/parse_number.h"
#include "base/url.h"
#include "settings/setting.h"
#include "settings/setting_values.h"

/// The settings of the export of telemetry. OpenTelemetry's own variables set those of OTLP, too.
namespace sluice::settings {

inline Problem CheckEndpoint(const std::string& url) {
  if (url.find('@') != std::string::npos) return "a URL with a password; use otlp.headers";
  if (url.empty() || url.starts_with("http://") || url.starts_with("https://")) return std::nullopt;
  return Quoted(url) + " is not http://HOST:PORT or https://HOST:PORT";
}

/// A duration; a plain number is milliseconds, as in OpenTelemetry's variables.
template <auto... kPath>
inline constexpr Access kMillis{
    [](Config& config, std::string_view text) -> Problem {
      const bool is_plain =
          !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
      Micros duration{0};
      if (auto problem = ReadDuration(std::string(text) + (is_plain ? "ms" : ""), duration)) {
        return problem;
      }
      if (duration < std::chrono::milliseconds(1)) return Quoted(text) + " is less than 1ms";
      FieldOf<kPath...>(config) = duration;
      return std::nullopt;
    },
    [](const Config& config) { return Print(FieldOf<kPath...>(config)); }};

/// true or false; or the name of an exporter, as in OpenTelemetry's variables.
template <auto kMember>
inline constexpr Access kSignal{[](Config& config, std::string_view text) -> Problem {
                                  bool& field = config.otlp.*kMember;
                                  if (text == "otlp" || text == "none") {
                                    field = text == "otlp";
                                    return std::nullopt;
                                  }
                                  if (!Read(text, field)) return std::nullopt;
                                  return Quoted(text) + " is none of true false otlp none";
                                },
                                [](const Config& config) { return Print(config.otlp.*kMember); }};

/// Errors never quote a value: headers are secrets.
inline constexpr Access kOtlpHeaders{
    [](Config& config, std::string_view text) -> Problem {
      Pairs headers;
      for (const std::string& item : SplitList(text)) {
        const auto equals = item.find('=');
        std::string value;
        if (equals == 0 || equals == std::string::npos ||
            !DecodePercent(item.substr(equals + 1), value)) {
          return "headers are of the form NAME=VALUE, with percent-encoded values";
        }
        const std::string_view name = TrimBlanks(std::string_view(item).substr(0, equals));
        const auto is_name = [](char c) {
          return IsLetter(c) || IsDigit(c) || c == '-' || c == '_';
        };
        const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
        if (!std::all_of(name.begin(), name.end(), is_name) ||
            !std::all_of(value.begin(), value.end(), is_printable)) {
          return "a header has a name of letters, digits, '-' and '_', and a printable value";
        }
        headers.emplace_back(name, value);
      }
      config.otlp.headers = std::move(headers);
      return std::nullopt;
    },
    [](const Config& config) { return Print(config.otlp.headers); }};

inline constexpr Access kSamplerRatio{[](Config& config, std::string_view text) -> Problem {
                                        const auto ratio = ParseNumber<double>(text);
                                        if (!ratio || !(*ratio >= 0 && *ratio <= 1)) {
                                          return Quoted(text) + " is not a number from 0 to 1";
                                        }
                                        config.otlp.sampler_ratio = *ratio;
                                        return std::nullopt;
                                      },
                                      [](const Config& config) {
                                        std::string text;
                                        AppendNumber(config.otlp.sampler_ratio, text);
                                        return text;
                                      }};

inline constexpr auto kOtlpSettings = std::to_array<Setting>({
    {"otlp.endpoint", "", "URL",
     "OpenTelemetry receiver, as http://127.0.0.1:4318. Default: none; nothing is exported.",
     kChecked<CheckEndpoint, &Config::otlp, &OtlpSettings::endpoint>, false,
     "OTEL_EXPORTER_OTLP_ENDPOINT"},
    {"otlp.protocol", "", "http/protobuf|http/json", "Encoding of what is sent there.",
     kField<&Config::otlp, &OtlpSettings::protocol>, false, "OTEL_EXPORTER_OTLP_PROTOCOL"},
    {"otlp.headers", "", "NAME=VALUE[,…]",
     "Headers of every request, with percent-encoded values. Secrets: never shown, and never sent "
     "unencrypted to other machines.",
     kOtlpHeaders, true, "OTEL_EXPORTER_OTLP_HEADERS"},
    {"otlp.timeout", "", "DURATION", "Time for one request; a plain number is milliseconds.",
     kMillis<&Config::otlp, &OtlpSettings::timeout>, false, "OTEL_EXPORTER_OTLP_TIMEOUT"},
    {"otlp.ca_file", "", "FILE",
     "Authorities of the receiver's certificate. Default: those of the system.",
     kField<&Config::otlp, &OtlpSettings::ca_file>, false, "OTEL_EXPORTER_OTLP_CERTIFICATE"},
    {"otlp.certificate_file", "", "FILE", "Client certificate for the receiver.",
     kField<&Config::otlp, &OtlpSettings::certificate_file>, false,
     "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
    {"otlp.key_file", "", "FILE", "Key of this certificate.",
     kField<&Config::otlp, &OtlpSettings::key_file>, false, "OTEL_EXPORTER_OTLP_CLIENT_KEY"},
    {"otlp.traces", "", "true|false", "Whether spans are exported.", kSignal<&OtlpSettings::traces>,
     false, "OTEL_TRACES_EXPORTER"},
    {"otlp.metrics", "", "true|false", "Whether metrics are exported.",
     kSignal<&OtlpSettings::metrics>, false, "OTEL_METRICS_EXPORTER"},
    {"otlp.logs", "", "true|false", "Whether sampled denials are exported as log records.",
     kSignal<&OtlpSettings::logs>, false, "OTEL_LOGS_EXPORTER"},
    {"otlp.service_name", "", "NAME", "The resource attribute service.name.",
     kField<&Config::otlp, &OtlpSettings::service_name>, false, "OTEL_SERVICE_NAME"},
    {"otlp.resource_attributes", "", "NAME=VALUE[,…]", "Further resource attributes.",
     kField<&Config::otlp, &OtlpSettings::resource_attributes>, false, "OTEL_RESOURCE_ATTRIBUTES"},
    {"otlp.sampler", "", "SAMPLER",
     "Which calls have spans: always_on, always_off, traceidratio, parentbased_always_on, "
     "parentbased_always_off or parentbased_traceidratio.",
     kField<&Config::otlp, &OtlpSettings::sampler>, false, "OTEL_TRACES_SAMPLER"},
    {"otlp.sampler_ratio", "", "RATIO", "Share of the calls that the sampler chooses, 0 to 1.",
     kSamplerRatio, false, "OTEL_TRACES_SAMPLER_ARG"},
    {"otlp.slow_call", "", "DURATION",
     "From when a call is slow: slow and degraded calls have spans whatever the sampler says.",
     kMillis<&Config::otlp, &OtlpSettings::slow_call>},
    {"otlp.spans_per_second", "", "N",
     "Most spans in a second, of all calls. Slow and degraded ones take the places of others.",
     kNumber<1, 100'000, &Config::otlp, &OtlpSettings::spans_per_second>},
    {"otlp.metrics_interval", "", "DURATION", "Time between two exports of metrics.",
     kMillis<&Config::otlp, &OtlpSettings::metrics_interval>, false, "OTEL_METRIC_EXPORT_INTERVAL"},
    {"otlp.denied_every", "", "N", "One in so many denials is exported as a log record.",
     kNumber<1, 1'000'000'000, &Config::otlp, &OtlpSettings::denied_every>},
});

/// Names of metrics have no other characters.
inline Problem CheckPrefix(const std::string& prefix) {
  const auto is_valid = [](char c) {
    return IsLetter(c) || IsDigit(c) || c == '.' || c == '_' || c == '-';
  };
  if (std::all_of(prefix.begin(), prefix.end(), is_valid)) return std::nullopt;
  return Quoted(prefix) + " has other characters than letters, digits, '.', '_' and '-'";
}

inline constexpr auto kStatsdSettings = std::to_array<Setting>({
    {"statsd.address", "", "HOST:PORT|unix:/PATH",
     "StatsD receiver, over UDP or a Unix datagram socket. Default: none; nothing is sent.",
     kField<&Config::statsd, &StatsdSettings::address>},
    {"statsd.format", "", "dogstatsd|statsd", "Whether labels are tags or parts of names.",
     kField<&Config::statsd, &StatsdSettings::format>},
    {"statsd.prefix", "", "TEXT", "Text before the name of every metric.",
     kChecked<CheckPrefix, &Config::statsd, &StatsdSettings::prefix>},
    {"statsd.interval", "", "DURATION", "Time between two exports.",
     kMillis<&Config::statsd, &StatsdSettings::interval>},
});

}  // namespace sluice::settings

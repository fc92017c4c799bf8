#include "settings/setting_values.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/duration.h"
#include "base/parse_number.h"

namespace sluice::settings {

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

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

Problem ReadNumber(std::string_view text, std::size_t least, std::size_t most,
                   std::size_t& number) {
  const auto read = ParseNumber<std::size_t>(text);
  if (!read || *read < least || *read > most) {
    return Quoted(text) + " is not a whole number from " + std::to_string(least) + " to " +
           std::to_string(most);
  }
  number = *read;
  return std::nullopt;
}

Problem ReadDuration(std::string_view text, Micros& duration, int most_days) {
  const auto read = ParseDuration(text);
  if (read && *read >= Micros{0} && *read <= std::chrono::hours(24) * most_days) {
    duration = *read;
    return std::nullopt;
  }
  const std::string most = most_days == 1 ? "a day" : std::to_string(most_days) + " days";
  return Quoted(text) + " is not a duration up to " + most + " such as 250ms, 5m or 1d";
}

Problem ReadPercentage(std::string_view text, std::optional<double>& percentage) {
  constexpr double kAll = 100;
  percentage.reset();
  if (text == "off") return std::nullopt;
  std::string_view number = text;
  if (number.ends_with('%')) number = TrimBlanks(number.substr(0, number.size() - 1));
  const auto decimal = ParseDecimal(number);
  const double value = decimal ? static_cast<double>(decimal->digits) /
                                     static_cast<double>(PowerOfTen(decimal->scale))
                               : -1;
  if (value < 0 || value > kAll) {
    return Quoted(text) + " is neither off nor a percentage such as 1 % or 0.5 %";
  }
  percentage = value;
  return std::nullopt;
}

std::string PrintPercentage(const std::optional<double>& percentage) {
  if (!percentage) return "off";
  std::array<char, 32> text;
  const auto end = std::to_chars(text.begin(), text.end(), *percentage).ptr;
  return std::string(text.begin(), end) + " %";
}

const EnumNames<RulesSource>& NamesOf(RulesSource) {
  static const EnumNames<RulesSource> names = {{"file", RulesSource::kFile},
                                               {"store", RulesSource::kStore}};
  return names;
}

const EnumNames<HeaderStyle>& NamesOf(HeaderStyle) {
  static const EnumNames<HeaderStyle> names = [] {
    EnumNames<HeaderStyle> all;
    for (std::size_t i = 0; i < kHeaderStyleCount; ++i) {
      const auto style = static_cast<HeaderStyle>(i);
      all.emplace_back(NameOf(style), style);
    }
    return all;
  }();
  return names;
}

const EnumNames<EnvoyHeaderSettings>& NamesOf(EnvoyHeaderSettings) {
  static const EnumNames<EnvoyHeaderSettings> names = [] {
    EnumNames<EnvoyHeaderSettings> all{{"ratelimit", {.ratelimit = true}}};
    for (const auto& [name, style] : NamesOf(HeaderStyle{})) {
      all.emplace_back(name, EnvoyHeaderSettings{.style = style});
    }
    return all;
  }();
  return names;
}

const EnumNames<envoy::NegativeHits>& NamesOf(envoy::NegativeHits) {
  using envoy::NegativeHits;
  static const EnumNames<NegativeHits> names = {{"off", NegativeHits::kOff},
                                                {"envoy_domains", NegativeHits::kEnvoyDomains},
                                                {"on", NegativeHits::kOn}};
  return names;
}

const EnumNames<identity::AddressHeader>& NamesOf(identity::AddressHeader) {
  using identity::AddressHeader;
  static const EnumNames<AddressHeader> names = {{"x-forwarded-for", AddressHeader::kXForwardedFor},
                                                 {"x-real-ip", AddressHeader::kXRealIp},
                                                 {"forwarded", AddressHeader::kForwarded},
                                                 {"none", AddressHeader::kNone}};
  return names;
}

const EnumNames<identity::OnInvalidToken>& NamesOf(identity::OnInvalidToken) {
  using identity::OnInvalidToken;
  static const EnumNames<OnInvalidToken> names = {{"refuse", OnInvalidToken::kRefuse},
                                                  {"anonymous", OnInvalidToken::kAnonymous}};
  return names;
}

const EnumNames<limiter::Enforcement>& NamesOf(limiter::Enforcement) {
  using limiter::Enforcement;
  static const EnumNames<Enforcement> names = {
      {"on", Enforcement::kOn}, {"shadow", Enforcement::kShadow}, {"off", Enforcement::kOff}};
  return names;
}

const EnumNames<net::ClientCertificates>& NamesOf(net::ClientCertificates) {
  using net::ClientCertificates;
  static const EnumNames<ClientCertificates> names = {{"off", ClientCertificates::kOff},
                                                      {"optional", ClientCertificates::kOptional},
                                                      {"required", ClientCertificates::kRequired}};
  return names;
}

const EnumNames<net::TlsVersion>& NamesOf(net::TlsVersion) {
  static const EnumNames<net::TlsVersion> names = {{"1.2", net::TlsVersion::k12},
                                                   {"1.3", net::TlsVersion::k13}};
  return names;
}

const EnumNames<OtlpProtocol>& NamesOf(OtlpProtocol) {
  static const EnumNames<OtlpProtocol> names = {{"http/protobuf", OtlpProtocol::kHttpProtobuf},
                                                {"http/json", OtlpProtocol::kHttpJson}};
  return names;
}

const EnumNames<StatsdFormat>& NamesOf(StatsdFormat) {
  static const EnumNames<StatsdFormat> names = {{"dogstatsd", StatsdFormat::kDogstatsd},
                                                {"statsd", StatsdFormat::kStatsd}};
  return names;
}

const EnumNames<telemetry::TraceSampler>& NamesOf(telemetry::TraceSampler) {
  using enum telemetry::TraceSampler;
  static const EnumNames<telemetry::TraceSampler> names = {
      {"always_on", kAlwaysOn},
      {"always_off", kAlwaysOff},
      {"traceidratio", kRatio},
      {"parentbased_always_on", kParentAlwaysOn},
      {"parentbased_always_off", kParentAlwaysOff},
      {"parentbased_traceidratio", kParentRatio}};
  return names;
}

const EnumNames<telemetry::LogFormat>& NamesOf(telemetry::LogFormat) {
  static const EnumNames<telemetry::LogFormat> names = {{"text", telemetry::LogFormat::kText},
                                                        {"json", telemetry::LogFormat::kJson}};
  return names;
}

const EnumNames<telemetry::LogLevel>& NamesOf(telemetry::LogLevel) {
  using telemetry::LogLevel;
  static const EnumNames<LogLevel> names = {{"error", LogLevel::kError},
                                            {"warn", LogLevel::kWarn},
                                            {"info", LogLevel::kInfo},
                                            {"debug", LogLevel::kDebug}};
  return names;
}

Problem Read(std::string_view text, std::string& value) {
  value = text;
  return std::nullopt;
}

Problem Read(std::string_view text, bool& value) {
  const bool is_true = text == "true" || text == "on" || text == "yes" || text == "1";
  const bool is_false = text == "false" || text == "off" || text == "no" || text == "0";
  if (!is_true && !is_false) return Quoted(text) + " is neither true nor false";
  value = is_true;
  return std::nullopt;
}

Problem Read(std::string_view text, Micros& value) { return ReadDuration(text, value); }

Problem Read(std::string_view text, std::vector<std::string>& value) {
  value = SplitList(text);
  return std::nullopt;
}

Problem Read(std::string_view text, Pairs& value) {
  Pairs read;
  for (const std::string& item : SplitList(text)) {
    const auto equals = item.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Quoted(item) + " is not of the form NAME=VALUE";
    }
    read.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  value = std::move(read);
  return std::nullopt;
}

Problem Read(std::string_view text, PathFolding& value) {
  const auto folding = ParsePathFolding(SplitList(text));
  if (!folding) return "expected case, parameters or trailing_dots, found " + Quoted(text);
  value = *folding;
  return std::nullopt;
}

Problem Read(std::string_view text, identity::Source& value) {
  auto source = identity::ParseSource(text);
  if (!source) return source.error().message;
  value = *std::move(source);
  return std::nullopt;
}

Problem Read(std::string_view text, std::vector<identity::Source>& value) {
  std::vector<identity::Source> sources;
  for (const std::string& item : SplitList(text)) {
    if (auto problem = Read(item, sources.emplace_back())) return problem;
  }
  value = std::move(sources);
  return std::nullopt;
}

Problem Read(std::string_view text, std::vector<identity::ClaimUse>& value) {
  Pairs pairs;
  if (auto problem = Read(text, pairs)) return problem;
  value.clear();
  for (auto& [claim, attribute] : pairs) value.push_back({std::move(claim), std::move(attribute)});
  return std::nullopt;
}

std::string Print(const std::string& value) { return value; }
std::string Print(bool value) { return value ? "true" : "false"; }
std::string Print(int value) { return std::to_string(value); }
std::string Print(std::size_t value) { return std::to_string(value); }
std::string Print(Micros value) { return FormatDuration(value); }
std::string Print(const std::vector<std::string>& value) { return JoinList(value); }
std::string Print(PathFolding value) { return JoinList(sluice::NamesOf(value)); }

std::string Print(const Pairs& value) {
  std::vector<std::string> items;
  for (const auto& [name, its_value] : value) items.push_back(name + "=" + its_value);
  return JoinList(items);
}

std::string Print(const identity::Source& value) { return identity::Describe(value); }

std::string Print(const std::vector<identity::Source>& value) {
  std::vector<std::string> items;
  for (const identity::Source& source : value) items.push_back(Print(source));
  return JoinList(items);
}

std::string Print(const std::vector<identity::ClaimUse>& value) {
  Pairs pairs;
  for (const identity::ClaimUse& use : value) pairs.emplace_back(use.claim, use.attribute);
  return Print(pairs);
}

}  // namespace sluice::settings

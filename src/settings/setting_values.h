#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "settings/setting.h"

/// How the values of settings are read and printed: the type of a field decides.
namespace sluice::settings {

/// In quotes, for messages.
[[nodiscard]] std::string Quoted(std::string_view text);

/// Separated by commas; "none" is an empty list.
[[nodiscard]] std::vector<std::string> SplitList(std::string_view text);
[[nodiscard]] std::string JoinList(const std::vector<std::string>& items);

[[nodiscard]] Problem ReadNumber(std::string_view text, std::size_t least, std::size_t most,
                                 std::size_t& number);
[[nodiscard]] Problem ReadDuration(std::string_view text, Micros& duration, int most_days = 1);
/// Reads "1 %", "0.5%" or "0.5"; "off" is no value.
[[nodiscard]] Problem ReadPercentage(std::string_view text, std::optional<double>& percentage);
[[nodiscard]] std::string PrintPercentage(const std::optional<double>& percentage);

/// The names of an enum's values, in the order of the documentation.
template <typename Enum>
using EnumNames = std::vector<std::pair<std::string_view, Enum>>;
[[nodiscard]] const EnumNames<RulesSource>& NamesOf(RulesSource);
[[nodiscard]] const EnumNames<HeaderStyle>& NamesOf(HeaderStyle);
[[nodiscard]] const EnumNames<EnvoyHeaderSettings>& NamesOf(EnvoyHeaderSettings);
[[nodiscard]] const EnumNames<envoy::NegativeHits>& NamesOf(envoy::NegativeHits);
[[nodiscard]] const EnumNames<identity::AddressHeader>& NamesOf(identity::AddressHeader);
[[nodiscard]] const EnumNames<identity::OnInvalidToken>& NamesOf(identity::OnInvalidToken);
[[nodiscard]] const EnumNames<limiter::Enforcement>& NamesOf(limiter::Enforcement);
[[nodiscard]] const EnumNames<net::ClientCertificates>& NamesOf(net::ClientCertificates);
[[nodiscard]] const EnumNames<net::TlsVersion>& NamesOf(net::TlsVersion);
[[nodiscard]] const EnumNames<telemetry::LogFormat>& NamesOf(telemetry::LogFormat);
[[nodiscard]] const EnumNames<telemetry::LogLevel>& NamesOf(telemetry::LogLevel);

[[nodiscard]] Problem Read(std::string_view text, std::string& value);
[[nodiscard]] Problem Read(std::string_view text, bool& value);
[[nodiscard]] Problem Read(std::string_view text, Micros& value);
[[nodiscard]] Problem Read(std::string_view text, std::vector<std::string>& value);
[[nodiscard]] Problem Read(std::string_view text, Pairs& value);
[[nodiscard]] Problem Read(std::string_view text, PathFolding& value);
[[nodiscard]] Problem Read(std::string_view text, identity::Source& value);
[[nodiscard]] Problem Read(std::string_view text, std::vector<identity::Source>& value);
[[nodiscard]] Problem Read(std::string_view text, std::vector<identity::ClaimUse>& value);
template <typename Enum>
[[nodiscard]] Problem Read(std::string_view text, Enum& value) {
  std::string problem = Quoted(text) + " is none of";
  for (const auto& [name, choice] : NamesOf(Enum{})) {
    if (name == text) {
      value = choice;
      return std::nullopt;
    }
    problem.append(" ").append(name);
  }
  return problem;
}

[[nodiscard]] std::string Print(const std::string& value);
[[nodiscard]] std::string Print(bool value);
[[nodiscard]] std::string Print(int value);
[[nodiscard]] std::string Print(std::size_t value);
[[nodiscard]] std::string Print(Micros value);
[[nodiscard]] std::string Print(const std::vector<std::string>& value);
[[nodiscard]] std::string Print(const Pairs& value);
[[nodiscard]] std::string Print(PathFolding value);
[[nodiscard]] std::string Print(const identity::Source& value);
[[nodiscard]] std::string Print(const std::vector<identity::Source>& value);
[[nodiscard]] std::string Print(const std::vector<identity::ClaimUse>& value);
template <typename Enum>
[[nodiscard]] std::string Print(const Enum& value) {
  for (const auto& [name, choice] : NamesOf(Enum{})) {
    if (choice == value) return std::string(name);
  }
  return {};
}

/// The field that a path of members leads to.
template <auto... kPath>
auto& FieldOf(auto& config) {
  return (config.*....*kPath);
}

template <auto... kPath>
inline constexpr Access kField{
    [](Config& config, std::string_view text) { return Read(text, FieldOf<kPath...>(config)); },
    [](const Config& config) { return Print(FieldOf<kPath...>(config)); }};

/// A number with bounds.
template <std::size_t kLeast, std::size_t kMost, auto... kPath>
inline constexpr Access kNumber{
    [](Config& config, std::string_view text) {
      std::size_t number = 0;
      Problem problem = ReadNumber(text, kLeast, kMost, number);
      auto& field = FieldOf<kPath...>(config);
      if (!problem) field = static_cast<std::remove_reference_t<decltype(field)>>(number);
      return problem;
    },
    [](const Config& config) { return Print(FieldOf<kPath...>(config)); }};

/// A field whose value must pass a check: Problem (*)(const T&).
template <auto kCheck, auto... kPath>
inline constexpr Access kChecked{
    [](Config& config, std::string_view text) -> Problem {
      auto value = FieldOf<kPath...>(config);
      if (auto problem = Read(text, value)) return problem;
      if (auto problem = kCheck(value)) return problem;
      FieldOf<kPath...>(config) = std::move(value);
      return std::nullopt;
    },
    [](const Config& config) { return Print(FieldOf<kPath...>(config)); }};

}  // namespace sluice::settings

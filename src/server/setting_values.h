#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/time.h>

#include "net/address.h"
#include "server/config.h"

/// How the values of settings are read and printed.
namespace sluice::server {

/// What is wrong with a text, if anything is.
using Mistake = std::optional<std::string>;

/// In quotes, for messages.
[[nodiscard]] std::string Quoted(std::string_view text);

Mistake ReadNumber(std::string_view text, std::size_t least, std::size_t most, std::size_t& number);
Mistake ReadDuration(std::string_view text, Micros& duration);
[[nodiscard]] std::string PrintDuration(Micros duration);
Mistake ReadOneOf(std::string_view text, std::initializer_list<std::string_view> choices,
                  std::string& chosen);
Mistake ReadFlag(std::string_view text, bool& value);

/// Separated by commas; "none" is an empty list.
[[nodiscard]] std::vector<std::string> SplitList(std::string_view text);
[[nodiscard]] std::string JoinList(const std::vector<std::string>& items);

/// "a=b,c=d". `example` is for messages.
using Pairs = std::vector<std::pair<std::string, std::string>>;
Mistake ReadPairs(std::string_view text, std::string_view example, Pairs& pairs);
[[nodiscard]] std::string PrintPairs(const Pairs& pairs);

// A path of members leads to a field, or to a field of a field.
template <auto... Path>
auto& FieldOf(auto& config) {
  return (config.*....*Path);
}

// Each field knows its own name only once: the type says how it is read and printed.
template <auto... Path>
Mistake SetText(Config& config, std::string_view text) {
  FieldOf<Path...>(config) = text;
  return std::nullopt;
}
template <auto... Path>
std::string GetText(const Config& config) {
  return FieldOf<Path...>(config);
}
template <auto... Path>
Mistake SetAddresses(Config& config, std::string_view text) {
  std::vector<std::string> addresses = SplitList(text);
  for (const std::string& address : addresses) {
    if (const auto parsed = net::ParseListenAddress(address); !parsed) {
      return parsed.error().message;
    }
  }
  FieldOf<Path...>(config) = std::move(addresses);
  return std::nullopt;
}
template <auto... Path>
std::string GetList(const Config& config) {
  return JoinList(FieldOf<Path...>(config));
}
template <auto Field, std::size_t Least, std::size_t Most>
Mistake SetNumber(Config& config, std::string_view text) {
  return ReadNumber(text, Least, Most, config.*Field);
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
template <auto... Path>
Mistake SetFlag(Config& config, std::string_view text) {
  return ReadFlag(text, FieldOf<Path...>(config));
}
template <auto... Path>
std::string GetFlag(const Config& config) {
  return FieldOf<Path...>(config) ? "true" : "false";
}
template <auto... Path>
Mistake SetList(Config& config, std::string_view text) {
  FieldOf<Path...>(config) = SplitList(text);
  return std::nullopt;
}

}  // namespace sluice::server

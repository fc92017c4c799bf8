#include "server/setting_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace sluice::server {

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

namespace {

struct Unit {
  std::string_view name;
  std::int64_t micros;
};
constexpr std::array<Unit, 5> kUnits{
    {{"us", 1}, {"ms", 1'000}, {"s", 1'000'000}, {"m", 60'000'000}, {"h", 3'600'000'000}}};

}  // namespace

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

Mistake ReadPairs(std::string_view text, std::string_view example, Pairs& pairs) {
  Pairs read;
  for (const std::string& item : SplitList(text)) {
    const auto equals = item.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Quoted(item) + " is not of the form " + std::string(example);
    }
    read.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  pairs = std::move(read);
  return std::nullopt;
}

std::string PrintPairs(const Pairs& pairs) {
  std::vector<std::string> items;
  for (const auto& [name, value] : pairs) items.push_back(name + "=" + value);
  return JoinList(items);
}

}  // namespace sluice::server

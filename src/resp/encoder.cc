#include "resp/encoder.h"

#include <array>
#include <charconv>
#include <cmath>

namespace sluice::resp {
namespace {

constexpr std::string_view kEnd = "\r\n";
// A sign and nineteen digits, or the shortest form of any double.
constexpr std::size_t kMostDigits = 32;

template <typename Number>
std::string_view Digits(Number number, std::array<char, kMostDigits>& room) {
  const auto [end, error] = std::to_chars(room.data(), room.data() + room.size(), number);
  return {room.data(), static_cast<std::size_t>(end - room.data())};
}

template <typename Number>
void AppendNumberLine(std::string& out, char type, Number number) {
  std::array<char, kMostDigits> line;
  line[0] = type;
  char* const last = line.data() + line.size() - kEnd.size();
  char* end = std::to_chars(line.data() + 1, last, number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(line.data(), end);
}

void AppendTextLine(std::string& out, char type, std::string_view text) {
  out.push_back(type);
  for (const char c : text) out.push_back(c == '\r' || c == '\n' ? ' ' : c);
  out.append(kEnd);
}

std::string_view TextOf(double number, std::array<char, kMostDigits>& room) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return Digits(number, room);
}

}  // namespace

void AppendCommand(std::string& out, std::span<const std::string_view> arguments) {
  AppendArrayHeader(out, arguments.size());
  for (const std::string_view argument : arguments) AppendBulk(out, argument);
}

void AppendCommand(std::string& out, std::initializer_list<std::string_view> arguments) {
  AppendCommand(out, std::span(arguments.begin(), arguments.size()));
}

void AppendArrayHeader(std::string& out, std::size_t elements) {
  AppendNumberLine(out, '*', elements);
}

void AppendBulk(std::string& out, std::string_view text) {
  AppendNumberLine(out, '$', text.size());
  out.append(text).append(kEnd);
}

void AppendBulkInteger(std::string& out, std::int64_t number) {
  std::array<char, kMostDigits> room;
  AppendBulk(out, Digits(number, room));
}

void AppendSimpleString(std::string& out, std::string_view text) { AppendTextLine(out, '+', text); }

void AppendError(std::string& out, std::string_view text) { AppendTextLine(out, '-', text); }

char* WriteInteger(char* at, std::int64_t number) {
  constexpr std::size_t kSignAndDigits = 20;
  *at++ = ':';
  if (number >= 0 && number < 10) {
    *at++ = static_cast<char>('0' + number);
  } else {
    at = std::to_chars(at, at + kSignAndDigits, number).ptr;
  }
  *at++ = '\r';
  *at++ = '\n';
  return at;
}

void AppendInteger(std::string& out, std::int64_t number) { AppendNumberLine(out, ':', number); }

void AppendNull(std::string& out, Protocol protocol) {
  out.append(protocol == Protocol::kResp3 ? "_\r\n" : "$-1\r\n");
}

void AppendMapHeader(std::string& out, std::size_t pairs, Protocol protocol) {
  if (protocol == Protocol::kResp3) {
    AppendNumberLine(out, '%', pairs);
  } else {
    AppendArrayHeader(out, 2 * pairs);
  }
}

void AppendBoolean(std::string& out, bool value, Protocol protocol) {
  if (protocol == Protocol::kResp3) {
    out.append(value ? "#t\r\n" : "#f\r\n");
  } else {
    AppendInteger(out, value ? 1 : 0);
  }
}

void AppendDouble(std::string& out, double number, Protocol protocol) {
  std::array<char, kMostDigits> room;
  const std::string_view text = TextOf(number, room);
  if (protocol == Protocol::kResp3) {
    AppendTextLine(out, ',', text);
  } else {
    AppendBulk(out, text);
  }
}

}  // namespace sluice::resp

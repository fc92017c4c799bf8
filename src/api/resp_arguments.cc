#include "api/resp_arguments.h"

#include <charconv>

#include "resp/encoder.h"

namespace sluice::api {

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c) != lower[i]) return false;
  }
  return true;
}

bool ReadInteger(std::string_view text, std::int64_t& number) {
  constexpr std::size_t kNeverTooLarge = 18;
  if (text.empty() || text.size() > kNeverTooLarge || text[0] == '-') {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
  }
  std::int64_t sum = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    sum = sum * 10 + (c - '0');
  }
  number = sum;
  return true;
}

bool ReadBounded(std::string_view name, std::string_view text, std::int64_t low, std::int64_t high,
                 std::int64_t& number, std::string& out) {
  if (ReadInteger(text, number) && number >= low && number <= high) return true;
  std::string message = "ERR ";
  message.append(name).append(" must be an integer between ").append(std::to_string(low));
  message.append(" and ").append(std::to_string(high));
  message.append(", found '").append(Quotable(text)).append("'");
  resp::AppendError(out, message);
  return false;
}

void AppendWrongArity(std::string_view name, std::string_view usage, std::string& out) {
  std::string message = "ERR wrong number of arguments for '";
  message.append(name).append("' command");
  if (!usage.empty()) message.append(": use ").append(usage);
  resp::AppendError(out, message);
}

void AppendUnknownSubcommand(std::string_view command, std::string_view subcommand,
                             std::string& out) {
  std::string message = "ERR unknown subcommand '";
  message.append(Quotable(subcommand)).append("'. Try ").append(command).append(" HELP.");
  resp::AppendError(out, message);
}

void AppendHelp(std::initializer_list<std::string_view> lines, std::string& out) {
  resp::AppendArrayHeader(out, lines.size());
  for (const std::string_view line : lines) resp::AppendSimpleString(out, line);
}

std::string_view Quotable(std::string_view text) {
  constexpr std::size_t kMost = 128;
  return text.substr(0, kMost);
}

void AppendStorageError(ErrorCode code, std::string& out) {
  std::string message = "ERR storage unavailable: ";
  resp::AppendError(out, message.append(ErrorName(code)));
}

}  // namespace sluice::api

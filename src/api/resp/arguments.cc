#include "api/resp/arguments.h"

#include "base/parse_number.h"
#include "resp/encoder.h"

namespace sluice::api {

bool ReadBounded(std::string_view name, std::string_view text, std::int64_t low, std::int64_t high,
                 std::int64_t& number, std::string& out) {
  if (const auto parsed = ParseNumber<std::int64_t>(text);
      parsed && *parsed >= low && *parsed <= high) {
    number = *parsed;
    return true;
  }
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

void AppendProblemError(const Problem& problem, std::string& out) {
  const ProblemKind& kind = KindOf(problem.code);
  std::string message(problem.code == ProblemCode::kForbidden ? "NOPERM " : "ERR ");
  message.append(kind.name).append(": ");
  if (!problem.field.empty()) message.append(problem.field).append(": ");
  message.append(problem.detail.empty() ? kind.meaning : std::string_view(problem.detail));
  resp::AppendError(out, message);
}

void AppendStorageError(ErrorCode code, std::string& out) {
  if (code == ErrorCode::kStoreFull) {
    return resp::AppendError(out,
                             "EXCESSIVE_KEY_CARDINALITY the store has no room for another key");
  }
  std::string message = "ERR storage unavailable: ";
  resp::AppendError(out, message.append(ErrorName(code)));
}

}  // namespace sluice::api

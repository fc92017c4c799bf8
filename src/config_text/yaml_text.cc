#include "config_text/yaml_text.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"
#include "base/utf8.h"

namespace sluice::config_text {
namespace {

bool IsUnwanted(char c) { return IsControl(c) && c != '\t' && c != '\n' && c != '\r'; }

YamlError ProblemAt(std::string_view text, std::size_t i, const char* what) {
  std::string found = "0x";
  AppendHex(text[i], found, kHexCapitals);
  return {PositionOf(text, i), "found the byte " + found + ", which is " + what};
}

}  // namespace

Position PositionOf(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0.
  return {static_cast<int>(line), static_cast<int>(offset - line_begin) + 1};
}

std::optional<YamlError> FindTextProblem(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (IsUnwanted(text[i])) {
      return ProblemAt(text, i, "a control character; rule files are plain text in UTF-8");
    }
    const std::size_t length = Utf8Size(text.substr(i));
    if (length == 0) return ProblemAt(text, i, "not UTF-8; rule files are plain text in UTF-8");
    i += length;
  }
  return std::nullopt;
}

std::optional<YamlError> FindTooManyMarks(std::string_view text) {
  std::size_t marks = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != ',' && c != '[' && c != ']' && c != '{' && c != '}') continue;
    if (++marks <= kMaxYamlMarks) continue;
    return YamlError{PositionOf(text, i), "more than " + std::to_string(kMaxYamlMarks) +
                                              " brackets and commas in one document"};
  }
  return std::nullopt;
}

std::size_t SkipYamlProperties(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == '&' || text[at] == '!')) {
    at = std::min(text.find_first_of(" \r\n", at), text.size());
    at = std::min(text.find_first_not_of(" \r\n", at), text.size());
  }
  return at;
}

std::size_t FindQuoteEnd(std::string_view text, std::size_t at) {
  const char quote = text[at++];
  for (; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '"' || at + 1 >= text.size() || text[at + 1] != quote) return at + 1;
      ++at;
    }
  }
  return std::string_view::npos;
}

}  // namespace sluice::config_text

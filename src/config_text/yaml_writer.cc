#include "config_text/yaml_writer.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/utf8.h"

namespace sluice::config_text {
namespace {

/// A list of scalars that is shorter is written in one line.
constexpr std::size_t kShortList = 72;

// Words that some YAML parsers don't treat as texts.
bool IsReservedWord(std::string_view text) {
  static constexpr std::array<std::string_view, 10> kWords{"true", "false", "null", "yes", "no",
                                                           "on",   "off",   "y",    "n",   "nan"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return EqualIgnoringCase(text, word); });
}

bool IsPlainCharacter(char c) {
  return IsLetter(c) || IsDigit(c) || c == '_' || c == '/' || c == '.' || c == '-' || c == '@';
}

// Numbers, times and dates of any reader of YAML begin with a digit and have no space or slash.
bool IsSurelyText(std::string_view text) {
  return IsLetter(text.front()) || text.front() == '_' || text.front() == '/' ||
         (IsDigit(text.front()) && text.find_first_of(" /") != std::string_view::npos &&
          text.find('-') == std::string_view::npos);
}

bool CanBePlain(std::string_view text) {
  if (text.empty() || text.back() == ' ' || IsReservedWord(text) || !IsSurelyText(text)) {
    return false;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!IsPlainCharacter(text[i]) && !(text[i] == ' ' && text[i + 1] != ' ')) return false;
  }
  return true;
}

// Line ends of Unicode, and the byte order mark, which YAML reads in other ways.
bool NeedsEscape(std::string_view character) {
  return character == "\xC2\x85" || character == "\xE2\x80\xA8" || character == "\xE2\x80\xA9" ||
         character == "\xEF\xBB\xBF" ||
         (character.size() == 2 && character[0] == '\xC2' &&
          static_cast<unsigned char>(character[1]) < 0xA0);
}

std::string_view EscapeOf(std::string_view character) {
  if (character == "\xE2\x80\xA8") return "\\u2028";
  if (character == "\xE2\x80\xA9") return "\\u2029";
  return "\\uFEFF";
}

void AppendScalar(const YamlNode& node, std::string& out) {
  if (node.kind == YamlKind::kNull) {
    out += "null";
  } else if (!node.quoted && IsJsonWord(node.text)) {
    out += node.text;
  } else {
    AppendYamlText(node.text, out);
  }
}

bool IsScalar(const YamlNode& node) {
  return node.kind == YamlKind::kScalar || node.kind == YamlKind::kNull;
}

// Whether the value is written in the line where it begins.
bool IsInline(const YamlNode& node) {
  if (IsScalar(node) || node.children.empty()) return true;
  if (node.kind == YamlKind::kMapping) return false;
  std::size_t size = 0;
  for (const YamlNode* item : node.children) {
    if (!IsScalar(*item)) return false;
    size += item->text.size() + 2;
  }
  return size <= kShortList;
}

}  // namespace

std::string QuotedYaml(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = std::max<std::size_t>(Utf8Size(text.substr(i)), 1);
    const std::string_view character = text.substr(i, size);
    const char c = text[i];
    i += size;
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (IsControl(c)) {
      AppendHex(c, out.append("\\x"), kHexCapitals);
    } else if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (NeedsEscape(character)) {
      if (size == 2) {
        AppendHex(character[1], out.append("\\x"), kHexCapitals);
      } else {
        out += EscapeOf(character);
      }
    } else {
      out += character;
    }
  }
  return out + '"';
}

void AppendYamlText(std::string_view text, std::string& out) {
  if (CanBePlain(text)) {
    out += text;
  } else {
    out += QuotedYaml(text);
  }
}

void AppendYamlFlow(const YamlNode& node, std::string& out) {
  if (IsScalar(node)) {
    AppendScalar(node, out);
    return;
  }
  const bool is_mapping = node.kind == YamlKind::kMapping;
  out += is_mapping ? '{' : '[';
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const bool is_name = is_mapping && i % 2 == 0;
    if (i > 0 && (!is_mapping || is_name)) out += ", ";
    if (is_name) {
      AppendYamlText(node.children[i]->text, out);
      out += ": ";
    } else {
      AppendYamlFlow(*node.children[i], out);
    }
  }
  out += is_mapping ? '}' : ']';
}

void AppendYamlBlock(const YamlNode& node, std::size_t indent, BlockStart start, std::string& out) {
  if (IsInline(node)) {
    if (start == BlockStart::kName) out += ' ';
    AppendYamlFlow(node, out);
    out += '\n';
    return;
  }
  if (start == BlockStart::kName) out += '\n';
  const bool is_mapping = node.kind == YamlKind::kMapping;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    if (i > 0 || start == BlockStart::kName) out.append(indent, ' ');
    if (is_mapping) {
      AppendYamlText(node.children[i++]->text, out);
      out += ':';
      AppendYamlBlock(*node.children[i], indent + kYamlIndent, BlockStart::kName, out);
    } else {
      out += "- ";
      AppendYamlBlock(*node.children[i], indent + kYamlIndent, BlockStart::kLine, out);
    }
  }
}

}  // namespace sluice::config_text

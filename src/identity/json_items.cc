#include "identity/json_items.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/ascii.h"

namespace sluice::identity {
namespace {

constexpr int kMaxDepth = 16;

void SkipBlanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

bool TakeChar(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

bool TakeWord(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::size_t TakeDigits(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits;
}

bool TakeNumber(std::string_view& text) {
  TakeChar(text, '-');
  const bool zero = text.starts_with('0');
  const std::size_t digits = TakeDigits(text);
  if (digits == 0 || (zero && digits > 1)) return false;
  if (TakeChar(text, '.') && TakeDigits(text) == 0) return false;
  if (TakeChar(text, 'e') || TakeChar(text, 'E')) {
    if (!TakeChar(text, '+')) TakeChar(text, '-');
    if (TakeDigits(text) == 0) return false;
  }
  return true;
}

// Leaves what the escapes mean to UnescapeJson.
bool TakeString(std::string_view& text, std::string_view& inside) {
  if (!TakeChar(text, '"')) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) < 0x20) return false;
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      inside = text.substr(0, i);
      text.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

bool TakeValue(std::string_view& text, int depth, JsonValue& value);

bool TakeNested(std::string_view& text, int depth, char open, char close) {
  if (depth >= kMaxDepth) return false;
  text.remove_prefix(1);
  SkipBlanks(text);
  if (TakeChar(text, close)) return true;
  do {
    SkipBlanks(text);
    if (open == '{') {
      std::string_view name;
      if (!TakeString(text, name) || !UnescapeJson(name)) return false;
      SkipBlanks(text);
      if (!TakeChar(text, ':')) return false;
      SkipBlanks(text);
    }
    JsonValue ignored;
    if (!TakeValue(text, depth + 1, ignored)) return false;
    SkipBlanks(text);
  } while (TakeChar(text, ','));
  return TakeChar(text, close);
}

bool TakeValue(std::string_view& text, int depth, JsonValue& value) {
  using Kind = JsonValue::Kind;
  const std::string_view begin = text;
  bool taken = false;
  switch (text.empty() ? '\0' : text[0]) {
    case '"':
      value.kind = Kind::kString;
      return TakeString(text, value.text) && UnescapeJson(value.text).has_value();
    case '{':
      value.kind = Kind::kObject;
      taken = TakeNested(text, depth, '{', '}');
      break;
    case '[':
      value.kind = Kind::kArray;
      taken = TakeNested(text, depth, '[', ']');
      break;
    case 't':
      value.kind = Kind::kTrue;
      taken = TakeWord(text, "true");
      break;
    case 'f':
      value.kind = Kind::kFalse;
      taken = TakeWord(text, "false");
      break;
    case 'n':
      value.kind = Kind::kNull;
      taken = TakeWord(text, "null");
      break;
    default:
      value.kind = Kind::kNumber;
      taken = TakeNumber(text);
  }
  value.text = begin.substr(0, begin.size() - text.size());
  return taken;
}

std::optional<std::uint32_t> FourHexDigits(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t unit = 0;
  for (const char c : text.substr(0, 4)) {
    const int digit = HexDigit(c);
    if (digit < 0) return std::nullopt;
    unit = unit << 4 | static_cast<std::uint32_t>(digit);
  }
  return unit;
}

void AppendUtf8(std::uint32_t point, std::string& out) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  }
}

// What follows "\u". A character beyond 16 bits is written as two.
bool TakeUnicode(std::string_view& text, std::string& out) {
  const auto unit = FourHexDigits(text);
  if (!unit || (*unit >= 0xDC00 && *unit < 0xE000)) return false;
  text.remove_prefix(4);
  if (*unit < 0xD800 || *unit >= 0xE000) {
    AppendUtf8(*unit, out);
    return true;
  }
  if (!TakeWord(text, "\\u")) return false;
  const auto low = FourHexDigits(text);
  if (!low || *low < 0xDC00 || *low >= 0xE000) return false;
  text.remove_prefix(4);
  AppendUtf8(0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00), out);
  return true;
}

}  // namespace

std::optional<std::string> UnescapeJson(std::string_view text) {
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  std::string out;
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find('\\'), text.size());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (text.size() < 2) return std::nullopt;
    const char escape = text[1];
    text.remove_prefix(2);
    if (escape == 'u') {
      if (!TakeUnicode(text, out)) return std::nullopt;
      continue;
    }
    const std::size_t meaning = kEscapes.find(escape);
    if (meaning == std::string_view::npos) return std::nullopt;
    out.push_back(kMeanings[meaning]);
  }
  return out;
}

JsonItems::JsonItems(std::string_view text, Of of) : rest_(text), of_(of) {
  SkipBlanks(rest_);
  failed_ = !TakeChar(rest_, of == Of::kObject ? '{' : '[');
}

bool JsonItems::Fail() {
  failed_ = true;
  return false;
}

bool JsonItems::End() {
  ended_ = true;
  SkipBlanks(rest_);
  return rest_.empty() ? false : Fail();
}

bool JsonItems::Next() {
  if (failed_ || ended_) return false;
  const char close = of_ == Of::kObject ? '}' : ']';
  SkipBlanks(rest_);
  if (first_) {
    first_ = false;
    if (TakeChar(rest_, close)) return End();
  } else {
    if (TakeChar(rest_, close)) return End();
    if (!TakeChar(rest_, ',')) return Fail();
    SkipBlanks(rest_);
  }
  if (of_ == Of::kObject) {
    std::string_view raw;
    if (!TakeString(rest_, raw)) return Fail();
    auto name = UnescapeJson(raw);
    if (!name) return Fail();
    name_ = *std::move(name);
    SkipBlanks(rest_);
    if (!TakeChar(rest_, ':')) return Fail();
    SkipBlanks(rest_);
  }
  return TakeValue(rest_, 1, value_) || Fail();
}

}  // namespace sluice::identity

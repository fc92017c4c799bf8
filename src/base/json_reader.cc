#include "base/json_reader.h"

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/parse_number.h"
#include "base/utf8.h"

namespace sluice {
namespace {

// Bytes that need no processing in a string.
bool IsPlainByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

}  // namespace

std::optional<std::string_view> JsonValue::String() const {
  if (kind() != Kind::kString) return std::nullopt;
  return node_->text;
}

std::optional<bool> JsonValue::Bool() const {
  if (kind() != Kind::kTrue && kind() != Kind::kFalse) return std::nullopt;
  return kind() == Kind::kTrue;
}

std::optional<std::string_view> JsonValue::Number() const {
  if (kind() != Kind::kNumber) return std::nullopt;
  return node_->raw;
}

std::optional<std::int64_t> JsonValue::Whole() const {
  if (kind() != Kind::kNumber) return std::nullopt;
  if (const auto whole = ParseNumber<std::int64_t>(node_->raw)) return whole;
  return ParseWhole(node_->raw);
}

std::optional<JsonValue> JsonValue::Find(std::string_view name) const {
  if (!is_object()) return std::nullopt;
  for (const JsonValue member : *this) {
    if (member.name() == name) return member;
  }
  return std::nullopt;
}

std::optional<JsonValue> JsonDocument::Parse(std::string_view text) {
  begin_ = at_ = text.data();
  end_ = begin_ + text.size();
  nodes_.clear();
  unescaped_.clear();
  SkipBlanks();
  if (!TakeValue({}, 0)) return std::nullopt;
  SkipBlanks();
  if (at_ != end_) {
    Fail("something follows the value");
    return std::nullopt;
  }
  return JsonValue(nodes_.data());
}

bool JsonDocument::Fail(std::string_view error) {
  error_ = error;
  return false;
}

void JsonDocument::SkipBlanks() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
}

bool JsonDocument::Take(char c) {
  if (at_ == end_ || *at_ != c) return false;
  ++at_;
  return true;
}

bool JsonDocument::TakeWord(std::string_view word) {
  if (!std::string_view(at_, end_).starts_with(word)) return Fail("expected a value");
  at_ += word.size();
  return true;
}

bool JsonDocument::TakeValue(std::string_view name, int depth) {
  using Kind = JsonValue::Kind;
  const char* const from = at_;
  const std::size_t index = nodes_.size();
  nodes_.push_back({.name = name});
  bool taken = false;
  Kind kind = Kind::kNumber;
  switch (at_ == end_ ? '\0' : *at_) {
    case '"':
      kind = Kind::kString;
      taken = TakeString(nodes_[index].text);
      break;
    case '{':
    case '[':
      kind = *at_ == '{' ? Kind::kObject : Kind::kArray;
      nodes_[index].kind = kind;
      taken = TakeItems(index, depth);
      break;
    case 't':
      kind = Kind::kTrue;
      taken = TakeWord("true");
      break;
    case 'f':
      kind = Kind::kFalse;
      taken = TakeWord("false");
      break;
    case 'n':
      kind = Kind::kNull;
      taken = TakeWord("null");
      break;
    default:
      taken = TakeNumber();
  }
  nodes_[index].kind = kind;
  nodes_[index].raw = {from, at_};
  nodes_[index].nodes = static_cast<std::uint32_t>(nodes_.size() - index);
  return taken;
}

bool JsonDocument::TakeItems(std::size_t node, int depth) {
  if (depth == kMaxDepth) return Fail("nested too deep");
  const bool object = *at_++ == '{';
  const char close = object ? '}' : ']';
  SkipBlanks();
  if (Take(close)) return true;
  std::uint32_t count = 0;
  do {
    std::string_view name;
    SkipBlanks();
    if (object) {
      if (at_ == end_ || *at_ != '"') return Fail("expected a name in quotes");
      if (!TakeString(name)) return false;
      SkipBlanks();
      if (!Take(':')) return Fail("expected a colon");
      SkipBlanks();
    }
    if (!TakeValue(name, depth + 1)) return false;
    ++count;
    SkipBlanks();
  } while (Take(','));
  nodes_[node].count = count;
  return Take(close) || Fail(object ? "expected a comma or '}'" : "expected a comma or ']'");
}

bool JsonDocument::TakeNumber() {
  const auto digits = [this] {
    const char* const from = at_;
    while (at_ != end_ && IsDigit(*at_)) ++at_;
    return at_ != from;
  };
  const bool negative = Take('-');
  if (!Take('0') && !digits()) return Fail(negative ? "expected a digit" : "expected a value");
  if (Take('.') && !digits()) return Fail("expected a digit");
  if (Take('e') || Take('E')) {
    if (!Take('+')) Take('-');
    if (!digits()) return Fail("expected a digit");
  }
  return true;
}

bool JsonDocument::TakeString(std::string_view& text) {
  const char* const from = ++at_;
  while (at_ != end_) {
    if (IsPlainByte(*at_)) {
      ++at_;
    } else if (*at_ == '"') {
      text = {from, at_++};
      return true;
    } else if (*at_ == '\\') {
      at_ = from;
      return TakeEscaped(text);
    } else {
      const std::size_t size = Utf8Size({at_, end_});
      if (size < 2) return Fail(size == 0 ? "not UTF-8" : "a control character in a string");
      at_ += size;
    }
  }
  return Fail("a string without an end");
}

// The same for a string with escapes, from its beginning.
bool JsonDocument::TakeEscaped(std::string_view& text) {
  // Unescaped text is never longer than its source: reserves for all strings.
  unescaped_.reserve(static_cast<std::size_t>(end_ - begin_));
  const std::size_t begin = unescaped_.size();
  while (at_ != end_) {
    if (*at_ == '"') {
      ++at_;
      text = std::string_view(unescaped_).substr(begin);
      return true;
    }
    if (*at_ == '\\') {
      ++at_;
      if (!TakeEscape()) return false;
      continue;
    }
    const std::size_t size = IsPlainByte(*at_) ? 1 : Utf8Size({at_, end_});
    if (size == 0) return Fail("not UTF-8");
    if (static_cast<unsigned char>(*at_) < 0x20) return Fail("a control character in a string");
    unescaped_.append(at_, size);
    at_ += size;
  }
  return Fail("a string without an end");
}

bool JsonDocument::TakeEscape() {
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (at_ == end_) return Fail("a string without an end");
  const char escape = *at_++;
  if (escape == 'u') {
    std::uint32_t unit = 0;
    if (!TakeCodeUnit(unit)) return false;
    if (unit >= 0xD800 && unit < 0xE000) {
      // A character beyond 16 bits is written as two.
      std::uint32_t low = 0;
      if (unit >= 0xDC00 || !Take('\\') || !Take('u') || !TakeCodeUnit(low) || low < 0xDC00 ||
          low >= 0xE000) {
        return Fail("half of a surrogate pair");
      }
      unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    AppendCodePoint(unit, unescaped_);
    return true;
  }
  const std::size_t meaning = kEscapes.find(escape);
  if (meaning == std::string_view::npos) return Fail("an unknown escape");
  unescaped_ += kMeanings[meaning];
  return true;
}

bool JsonDocument::TakeCodeUnit(std::uint32_t& unit) {
  const std::string_view digits(at_, end_);
  const int high = HexByte(digits);
  const int low = digits.size() < 4 ? -1 : HexByte(digits.substr(2));
  if (high < 0 || low < 0) return Fail("expected four hexadecimal digits");
  unit = static_cast<std::uint32_t>(high * 256 + low);
  at_ += 4;
  return true;
}

}  // namespace sluice

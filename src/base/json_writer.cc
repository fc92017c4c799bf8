#include "base/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>

namespace sluice {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool IsContinuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// How many bytes the character at the front has; 0 if it is not UTF-8. As RFC 3629: no overlong
// forms, no surrogates, nothing above U+10FFFF.
std::size_t CharacterSize(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !IsContinuation(byte(1))) return 0;
  if (first < 0xE0) return 2;
  if (!IsContinuation(byte(2))) return 0;
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  const bool overlong = first == 0xF0 && byte(1) < 0x90;
  const bool too_large = first == 0xF4 && byte(1) > 0x8F;
  return overlong || too_large || !IsContinuation(byte(3)) ? 0 : 4;
}

void AppendEscape(unsigned char byte, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
  }
}

// 0x7F is no control character to JSON, but is one to terminals.
bool NeedsEscape(unsigned char byte) {
  return byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7F;
}

template <typename Number>
void AppendNumber(Number number, std::string& out) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

}  // namespace

JsonWriter& JsonWriter::Key(std::string_view name) {
  BeforeValue();
  AppendQuoted(name);
  out_ += style_ == Style::kCompact ? ":" : ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view text) {
  BeforeValue();
  AppendQuoted(text);
  return *this;
}

JsonWriter& JsonWriter::Int(std::int64_t number) {
  BeforeValue();
  AppendNumber(number, out_);
  return *this;
}

JsonWriter& JsonWriter::Uint(std::uint64_t number) {
  BeforeValue();
  AppendNumber(number, out_);
  return *this;
}

JsonWriter& JsonWriter::Double(double number) {
  if (!std::isfinite(number)) return Null();
  BeforeValue();
  AppendNumber(number, out_);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  BeforeValue();
  out_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::Null() {
  BeforeValue();
  out_ += "null";
  return *this;
}

JsonWriter& JsonWriter::Open(char bracket) {
  BeforeValue();
  out_ += bracket;
  has_values_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  const bool had_values = has_values_.back();
  has_values_.pop_back();
  if (had_values) BreakLine();
  out_ += bracket;
  return *this;
}

void JsonWriter::BeforeValue() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_values_.empty()) return;
  if (has_values_.back()) out_ += ',';
  has_values_.back() = true;
  BreakLine();
}

void JsonWriter::BreakLine() {
  if (style_ == Style::kCompact) return;
  out_ += '\n';
  out_.append(2 * has_values_.size(), ' ');
}

void JsonWriter::AppendQuoted(std::string_view text) {
  out_ += '"';
  while (!text.empty()) {
    const std::size_t size = CharacterSize(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (size == 0) {
      out_ += kReplacement;
    } else if (size == 1 && NeedsEscape(first)) {
      AppendEscape(first, out_);
    } else {
      out_ += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  out_ += '"';
}

}  // namespace sluice

#include "base/json_writer.h"

#include <cmath>

#include "base/ascii.h"
#include "base/parse_number.h"
#include "base/utf8.h"

namespace sluice {
namespace {

void AppendEscape(char c, std::string& out) {
  switch (c) {
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
      AppendHex(c, out);
  }
}

// 0x7F is a control character for terminals, though not in JSON.
bool NeedsEscape(char c) { return IsControl(c) || c == '"' || c == '\\'; }

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

JsonWriter& JsonWriter::Literal(std::string_view json) {
  BeforeValue();
  out_ += json;
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

void AppendJsonEscaped(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const std::size_t size = Utf8Size(text);
    if (size == 0) {
      out += kReplacementCharacter;
    } else if (size == 1 && NeedsEscape(text[0])) {
      AppendEscape(text[0], out);
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
}

void JsonWriter::AppendQuoted(std::string_view text) {
  out_ += '"';
  AppendJsonEscaped(text, out_);
  out_ += '"';
}

}  // namespace sluice

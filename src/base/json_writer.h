#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Appends `text` escaped for a JSON string, without quotes. Invalid UTF-8 becomes U+FFFD; DEL is
/// escaped, too, because terminals interpret it.
void AppendJsonEscaped(std::string_view text, std::string& out);

/// Appends JSON to a string. Writes commas, quotes and line breaks; the caller must balance Begin
/// and End.
///
///     std::string out;
///     JsonWriter json(out);
///     json.BeginObject();
///     json.Key("allowed").Bool(true);
///     json.Key("left").Int(41);
///     json.EndObject();                 // {"allowed":true,"left":41}
class JsonWriter {
 public:
  enum class Style : std::uint8_t {
    kCompact,
    kIndented,  ///< Two spaces per level, one value per line.
  };

  explicit JsonWriter(std::string& out, Style style = Style::kCompact) : out_(out), style_(style) {}

  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }

  /// Writes the name of the next member of an object.
  JsonWriter& Key(std::string_view name);

  /// Writes a string. Invalid UTF-8, which JSON can't express, becomes U+FFFD.
  JsonWriter& String(std::string_view text);
  JsonWriter& Int(std::int64_t number);
  JsonWriter& Uint(std::uint64_t number);
  /// Writes the shortest exact representation; null if the number is not finite.
  JsonWriter& Double(double number);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  /// Writes a value that is already JSON.
  JsonWriter& Literal(std::string_view json);

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  void BeforeValue();
  void BreakLine();
  void AppendQuoted(std::string_view text);

  std::string& out_;
  Style style_;
  std::vector<bool> has_values_;  ///< For each open object and array.
  bool after_key_ = false;
};

}  // namespace sluice

#include "otlp/message_writer.h"

#include <bit>

#include "base/ascii.h"
#include "base/utf8.h"

namespace sluice::otlp {

MessageWriter::MessageWriter(Encoding encoding, std::string& out)
    : encoding_(encoding), proto_(out), json_(out) {
  if (is_json()) json_.BeginObject();
}

void MessageWriter::Begin(Field field) {
  if (is_json()) {
    json_.Key(field.name).BeginObject();
  } else {
    open_.push_back(proto_.Begin(field.number));
  }
}

void MessageWriter::End() {
  if (is_json()) {
    json_.EndObject();
  } else {
    proto_.End(open_.back());
    open_.pop_back();
  }
}

void MessageWriter::BeginList(Field field) {
  if (is_json()) json_.Key(field.name).BeginArray();
}

void MessageWriter::BeginElement(Field field) {
  if (is_json()) {
    json_.BeginObject();
  } else {
    open_.push_back(proto_.Begin(field.number));
  }
}

void MessageWriter::EndList() {
  if (is_json()) json_.EndArray();
}

void MessageWriter::Text(Field field, std::string_view text) {
  if (is_json()) {
    json_.Key(field.name).String(text);
  } else if (IsUtf8(text)) {
    proto_.PresentBytes(field.number, text);
  } else {
    std::string valid;  // A receiver refuses a whole message with any other text.
    AppendAsUtf8(text, valid);
    proto_.PresentBytes(field.number, valid);
  }
}

void MessageWriter::Id(Field field, std::initializer_list<std::uint64_t> words) {
  std::string bytes;
  for (const std::uint64_t word : words) {
    for (unsigned shift = 64; shift > 0; shift -= 8) {
      const auto byte = static_cast<char>(word >> (shift - 8));
      if (is_json()) {
        AppendHex(byte, bytes);
      } else {
        bytes += byte;
      }
    }
  }
  if (is_json()) return Text(field, bytes);
  proto_.PresentBytes(field.number, bytes);
}

void MessageWriter::Fixed(Field field, std::uint64_t value) {
  if (is_json()) {
    json_.Key(field.name).String(std::to_string(value));
  } else {
    proto_.Fixed64(field.number, value);
  }
}

void MessageWriter::SignedFixed(Field field, std::int64_t value) {
  if (is_json()) {
    json_.Key(field.name).String(std::to_string(value));
  } else {
    proto_.Fixed64(field.number, static_cast<std::uint64_t>(value));
  }
}

void MessageWriter::Int(Field field, std::int64_t value) {
  if (is_json()) {
    json_.Key(field.name).String(std::to_string(value));
  } else {
    proto_.PresentUint(field.number, static_cast<std::uint64_t>(value));
  }
}

void MessageWriter::Enum(Field field, std::uint32_t value) {
  if (is_json()) {
    json_.Key(field.name).Uint(value);
  } else {
    proto_.PresentUint(field.number, value);
  }
}

void MessageWriter::Bool(Field field, bool value) {
  if (is_json()) {
    json_.Key(field.name).Bool(value);
  } else {
    proto_.PresentUint(field.number, value ? 1 : 0);
  }
}

void MessageWriter::Double(Field field, double value) {
  if (is_json()) {
    json_.Key(field.name).Double(value);
  } else {
    proto_.Fixed64(field.number, std::bit_cast<std::uint64_t>(value));
  }
}

void MessageWriter::FixedList(Field field, std::span<const std::uint64_t> values) {
  if (is_json()) {
    json_.Key(field.name).BeginArray();
    for (const std::uint64_t value : values) json_.String(std::to_string(value));
    json_.EndArray();
    return;
  }
  std::string packed;
  for (const std::uint64_t value : values) wire::AppendFixed64(value, packed);
  proto_.Bytes(field.number, packed);
}

void MessageWriter::DoubleList(Field field, std::span<const double> values) {
  if (is_json()) {
    json_.Key(field.name).BeginArray();
    for (const double value : values) json_.Double(value);
    json_.EndArray();
    return;
  }
  std::string packed;
  for (const double value : values) {
    wire::AppendFixed64(std::bit_cast<std::uint64_t>(value), packed);
  }
  proto_.Bytes(field.number, packed);
}

void MessageWriter::Finish() {
  if (is_json()) json_.EndObject();
}

}  // namespace sluice::otlp

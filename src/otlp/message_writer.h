#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "wire/proto_writer.h"

namespace sluice::otlp {

enum class Encoding : std::uint8_t { kProtobuf, kJson };

/// A field of a message: its number in protobuf, its name in JSON.
struct Field {
  std::uint32_t number;
  std::string_view name;
};

/// Appends one message of OTLP to a string, in either encoding. In JSON, ids are hexadecimal, enums
/// are numbers and 64-bit integers strings, as OTLP says.
class MessageWriter {
 public:
  MessageWriter(Encoding encoding, std::string& out);

  /// A nested message; End must follow.
  void Begin(Field field);
  void End();
  /// A repeated message: BeginElement and End for each, then EndList.
  void BeginList(Field field);
  void BeginElement(Field field);
  void EndList();

  // Written whatever the value is.

  void Text(Field field, std::string_view text);
  /// An id of 64-bit words.
  void Id(Field field, std::initializer_list<std::uint64_t> words);
  /// fixed64 and sfixed64.
  void Fixed(Field field, std::uint64_t value);
  void SignedFixed(Field field, std::int64_t value);
  /// int64 as a varint.
  void Int(Field field, std::int64_t value);
  void Enum(Field field, std::uint32_t value);
  void Bool(Field field, bool value);
  void Double(Field field, double value);
  void FixedList(Field field, std::span<const std::uint64_t> values);
  void DoubleList(Field field, std::span<const double> values);

  /// Ends the whole message.
  void Finish();

 private:
  [[nodiscard]] bool is_json() const { return encoding_ == Encoding::kJson; }

  const Encoding encoding_;
  wire::ProtoWriter proto_;
  JsonWriter json_;
  std::vector<wire::ProtoWriter::Message> open_;
};

}  // namespace sluice::otlp

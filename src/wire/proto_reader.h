#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::wire {

/// Iterates over the fields of a protobuf message without copies or allocations. Fields that are
/// not read are skipped. Malformed input ends the iteration: truncation, numbers above 64 bits,
/// groups (not in proto3), and fields that are read as another wire type.
///
///     ProtoReader reader(message);
///     while (reader.Next()) {
///       if (reader.field() == 1) domain = reader.Bytes();
///     }
///     if (!reader.ok()) …
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) : rest_(message) {}

  /// Advances to the next field. Returns false at the end, or if `ok` is false.
  bool Next();
  /// The number of the current field.
  [[nodiscard]] std::uint32_t field() const { return field_; }

  // The current value. A wrong wire type sets `ok` to false. Repeated fields are visited each time:
  // the last number or text wins, messages are to be merged.

  /// uint64, int64, enum, bool.
  std::uint64_t Varint();
  /// Truncates larger numbers, as protobuf does.
  std::uint32_t Uint32() { return static_cast<std::uint32_t>(Varint()); }
  bool Bool() { return Varint() != 0; }
  /// string, bytes or a message; points into the input. UTF-8 is not validated.
  std::string_view Bytes();

  /// Marks the message as malformed because of an invalid value.
  void Refuse() { ok_ = false; }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  enum class Kind : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  bool ReadVarint(std::uint64_t& number);
  bool ReadBytes(std::uint64_t size);
  bool ReadValue(std::uint64_t kind);

  std::string_view rest_;
  std::uint32_t field_ = 0;
  Kind kind_ = Kind::kVarint;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace sluice::wire

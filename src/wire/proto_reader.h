#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::wire {

/// The fields of one protobuf message, one after the other. Copies nothing and allocates nothing.
/// A field that is not asked for is skipped without being parsed. Malformed input ends the
/// reading: what is cut off, numbers of more than 64 bits, groups (no proto3 message has any), and
/// fields whose value is of another kind than is asked for.
///
///     ProtoReader reader(message);
///     while (reader.Next()) {
///       if (reader.field() == 1) domain = reader.Bytes();
///     }
///     if (!reader.ok()) …
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) : rest_(message) {}

  /// False: there are no more, or `ok` is false.
  bool Next();
  /// Of the field that was found.
  [[nodiscard]] std::uint32_t field() const { return field_; }

  // Its value. With another kind, `ok` becomes false. Fields that are there several times are found
  // so often: of numbers and texts the last counts, messages are to be merged.

  /// uint64, int64, enum, bool.
  std::uint64_t Varint();
  /// A larger number loses its high bits, as protobuf has it.
  std::uint32_t Uint32() { return static_cast<std::uint32_t>(Varint()); }
  bool Bool() { return Varint() != 0; }
  /// string, bytes or a message; points into what is read. Text is not checked to be UTF-8.
  std::string_view Bytes();

  /// For callers that find the value itself malformed.
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

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::wire {

/// Appends a fixed64 without a tag: an element of a packed list.
void AppendFixed64(std::uint64_t value, std::string& out);

/// Appends a protobuf message to a string.
///
///     ProtoWriter writer(out);
///     writer.Uint(1, code);
///     const ProtoWriter::Message limit = writer.Begin(2);
///     writer.Uint(1, requests_per_unit).Bytes(3, name);
///     writer.End(limit);
class ProtoWriter {
 public:
  /// A nested message that is being written.
  struct Message {
    std::size_t begin;
  };

  explicit ProtoWriter(std::string& out) : out_(out) {}

  // Default values of proto3 (0, false, "") are not written.

  /// uint32, uint64, bool, an enum; and non-negative int32 and int64.
  ProtoWriter& Uint(std::uint32_t field, std::uint64_t value);
  ProtoWriter& Bytes(std::uint32_t field, std::string_view value);

  // Written whatever they are: where a field is one of several (oneof), its presence matters.

  /// As Uint; and negative int32 and int64, as 64 bits.
  ProtoWriter& PresentUint(std::uint32_t field, std::uint64_t value);
  ProtoWriter& PresentBytes(std::uint32_t field, std::string_view value);
  /// fixed64, sfixed64, double (its bits).
  ProtoWriter& Fixed64(std::uint32_t field, std::uint64_t value);

  /// Begins a nested message; End must follow. It is written even if it is empty.
  [[nodiscard]] Message Begin(std::uint32_t field);
  void End(Message message);

 private:
  std::string& out_;
};

}  // namespace sluice::wire

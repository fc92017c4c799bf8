#include "wire/proto_writer.h"

#include <array>

namespace sluice::wire {
namespace {

constexpr std::uint64_t kVarint = 0;
constexpr std::uint64_t kFixed64 = 1;
constexpr std::uint64_t kBytes = 2;

// A number as it is written.
struct Varint {
  explicit Varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) bytes[size++] = static_cast<char>(value | 0x80U);
    bytes[size++] = static_cast<char>(value);
  }

  std::array<char, 10> bytes;
  std::size_t size = 0;
};

void Append(std::uint64_t value, std::string& out) {
  const Varint varint(value);
  out.append(varint.bytes.data(), varint.size);
}

void AppendTag(std::uint32_t field, std::uint64_t kind, std::string& out) {
  Append(std::uint64_t{field} << 3U | kind, out);
}

}  // namespace

void AppendFixed64(std::uint64_t value, std::string& out) {
  for (unsigned shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift);
}

ProtoWriter& ProtoWriter::Uint(std::uint32_t field, std::uint64_t value) {
  return value == 0 ? *this : PresentUint(field, value);
}

ProtoWriter& ProtoWriter::PresentUint(std::uint32_t field, std::uint64_t value) {
  AppendTag(field, kVarint, out_);
  Append(value, out_);
  return *this;
}

ProtoWriter& ProtoWriter::Fixed64(std::uint32_t field, std::uint64_t value) {
  AppendTag(field, kFixed64, out_);
  AppendFixed64(value, out_);
  return *this;
}

ProtoWriter& ProtoWriter::Bytes(std::uint32_t field, std::string_view value) {
  return value.empty() ? *this : PresentBytes(field, value);
}

ProtoWriter& ProtoWriter::PresentBytes(std::uint32_t field, std::string_view value) {
  AppendTag(field, kBytes, out_);
  Append(value.size(), out_);
  out_.append(value);
  return *this;
}

// Most messages are short: one byte is left for the length.
ProtoWriter::Message ProtoWriter::Begin(std::uint32_t field) {
  AppendTag(field, kBytes, out_);
  out_ += '\0';
  return {out_.size()};
}

void ProtoWriter::End(Message message) {
  const Varint length(out_.size() - message.begin);
  out_[message.begin - 1] = length.bytes[0];
  out_.insert(message.begin, length.bytes.data() + 1, length.size - 1);
}

}  // namespace sluice::wire

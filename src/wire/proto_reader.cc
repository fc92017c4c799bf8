#include "wire/proto_reader.h"

#include <cstddef>

namespace sluice::wire {

bool ProtoReader::Next() {
  if (!ok_ || rest_.empty()) return false;
  constexpr std::uint64_t kMaxTag = 0xFFFFFFFFU;
  std::uint64_t tag = 0;
  ok_ = ReadVarint(tag) && tag <= kMaxTag && tag >> 3U != 0;
  if (!ok_) return false;
  field_ = static_cast<std::uint32_t>(tag >> 3U);
  ok_ = ReadValue(tag & 7U);
  return ok_;
}

std::uint64_t ProtoReader::Varint() {
  if (kind_ == Kind::kVarint) return number_;
  ok_ = false;
  return 0;
}

std::string_view ProtoReader::Bytes() {
  if (kind_ == Kind::kBytes) return bytes_;
  ok_ = false;
  return {};
}

bool ProtoReader::ReadValue(std::uint64_t kind) {
  kind_ = static_cast<Kind>(kind);
  switch (kind_) {
    case Kind::kVarint:
      return ReadVarint(number_);
    case Kind::kFixed64:
      return ReadBytes(8);
    case Kind::kBytes: {
      std::uint64_t size = 0;
      return ReadVarint(size) && ReadBytes(size);
    }
    case Kind::kFixed32:
      return ReadBytes(4);
  }
  return false;
}

bool ProtoReader::ReadVarint(std::uint64_t& number) {
  constexpr std::size_t kLongest = 10;
  number = 0;
  for (std::size_t i = 0; i < rest_.size() && i < kLongest; ++i) {
    const auto byte = static_cast<std::uint8_t>(rest_[i]);
    if (i + 1 == kLongest && byte > 1) return false;
    number |= std::uint64_t{byte & 0x7FU} << (7 * i);
    if (byte < 0x80U) {
      rest_.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

bool ProtoReader::ReadBytes(std::uint64_t size) {
  if (size > rest_.size()) return false;
  bytes_ = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

}  // namespace sluice::wire

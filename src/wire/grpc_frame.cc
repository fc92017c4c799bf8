#include "wire/grpc_frame.h"

#include <algorithm>

namespace sluice::wire {
namespace {

// Capacity of the buffer that is kept for further messages.
constexpr std::size_t kKept = std::size_t{4} << 10;

std::size_t LengthIn(std::string_view prefix) {
  std::size_t length = 0;
  for (const char byte : prefix.substr(1)) length = length << 8 | static_cast<unsigned char>(byte);
  return length;
}

}  // namespace

GrpcFrameReader::Status GrpcFrameReader::Read(std::string_view& bytes, std::size_t most) {
  if (whole_) Clear();
  const auto take = [&](std::size_t until) {
    const std::size_t count = std::min(bytes.size(), until - bytes_.size());
    bytes_.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    return bytes_.size() == until;
  };
  if (bytes_.size() < kPrefix) {
    if (!take(kPrefix)) return Status::kMore;
    if (bytes_.front() != '\0' && bytes_.front() != '\1') return Status::kBroken;
    const std::size_t length = LengthIn(bytes_);
    if (length > most) return Status::kTooLarge;
    size_ = kPrefix + length;
  }
  whole_ = take(size_);
  return whole_ ? Status::kMessage : Status::kMore;
}

void GrpcFrameReader::Clear() {
  bytes_.clear();
  if (bytes_.capacity() > kKept) std::string().swap(bytes_);
  whole_ = false;
}

void AppendGrpcFrame(std::string_view message, Compressed compressed, std::string& out) {
  const auto size = static_cast<std::uint32_t>(message.size());
  out += compressed == Compressed::kYes ? '\1' : '\0';
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(size >> shift);
  out += message;
}

}  // namespace sluice::wire

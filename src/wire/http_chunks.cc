#include "wire/http_chunks.h"

#include <algorithm>

#include "base/ascii.h"
#include "wire/byte_scan.h"

namespace sluice::wire {
namespace {

constexpr int kMostDigits = 16;  // What fits into 64 bits.

}  // namespace

void HttpChunks::Begin() { *this = {}; }

HttpChunks::Step HttpChunks::Read(std::string_view& bytes, const HttpLimits& limits,
                                  std::string& body) {
  while (!bytes.empty()) {
    if (state_ == State::kData) {
      const std::size_t taken = std::min(left_, bytes.size());
      body.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      left_ -= taken;
      if (left_ == 0) state_ = State::kDataEnd;
      continue;
    }
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    const Step step = Take(byte, limits);
    if (step != Step::kMore) return step;
  }
  return Step::kMore;
}

HttpChunks::Step HttpChunks::Take(unsigned char byte, const HttpLimits& limits) {
  switch (state_) {
    case State::kFirstDigit:
      if (HexDigit(static_cast<char>(byte)) < 0) return Fail(400, "a chunk begins with its size");
      digits_ = 0;
      left_ = 0;
      state_ = State::kDigits;
      return TakeDigit(byte, limits);
    case State::kDigits:
      return TakeDigit(byte, limits);
    case State::kExtension:
      if (++extra_ > limits.max_header_bytes) return Fail(431, "chunk extensions are too long");
      if (byte == '\r') {
        state_ = State::kSizeEnd;
      } else if (!IsValueByte(static_cast<char>(byte))) {
        return Fail(400, "a control byte in a chunk's extension");
      }
      return Step::kMore;
    case State::kSizeEnd:
      if (byte != '\n') return Fail(400, "a carriage return without a line feed");
      if (left_ > limits.max_body - total_) return Fail(413, "the body is too long");
      total_ += left_;
      state_ = left_ == 0 ? State::kLine : State::kData;
      return Step::kMore;
    case State::kData:
      return Step::kMore;
    case State::kDataEnd:
      if (byte != '\r') return Fail(400, "a chunk does not end after its size");
      state_ = State::kDataEnded;
      return Step::kMore;
    case State::kDataEnded:
      if (byte != '\n') return Fail(400, "a chunk does not end after its size");
      state_ = State::kFirstDigit;
      return Step::kMore;
    default:
      return TakeTrailer(byte, limits);
  }
}

HttpChunks::Step HttpChunks::TakeDigit(unsigned char byte, const HttpLimits& limits) {
  const int digit = HexDigit(static_cast<char>(byte));
  if (digit >= 0) {
    if (++digits_ > kMostDigits) return Fail(400, "a chunk's size has too many digits");
    left_ = left_ * 16 + static_cast<std::size_t>(digit);
    if (left_ > limits.max_body) return Fail(413, "the body is too long");
    return Step::kMore;
  }
  // Blanks, which older texts allow here, are read differently by different servers.
  if (byte != '\r' && byte != ';') return Fail(400, "a chunk's size is a hexadecimal number");
  state_ = byte == '\r' ? State::kSizeEnd : State::kExtension;
  return Step::kMore;
}

HttpChunks::Step HttpChunks::TakeTrailer(unsigned char byte, const HttpLimits& limits) {
  const char c = static_cast<char>(byte);
  if (state_ == State::kLastEnd) {
    if (byte != '\n') return Fail(400, "a carriage return without a line feed");
    state_ = State::kDone;
    return Step::kDone;
  }
  if (state_ == State::kLine && byte == '\r') {
    state_ = State::kLastEnd;
    return Step::kMore;
  }
  if (++extra_ > limits.max_header_bytes) return Fail(431, "the trailers are too long");
  switch (state_) {
    case State::kLine:
      if (++trailers_ > limits.max_headers) return Fail(431, "there are too many trailers");
      if (!IsTokenByte(c)) return Fail(400, "a trailer's line is not a name and a colon");
      state_ = State::kTrailerName;
      return Step::kMore;
    case State::kTrailerName:
      if (byte == ':') {
        state_ = State::kTrailerValue;
      } else if (!IsTokenByte(c)) {
        return Fail(400, "a trailer's line is not a name and a colon");
      }
      return Step::kMore;
    case State::kTrailerValue:
      if (byte == '\r') {
        state_ = State::kTrailerEnd;
      } else if (!IsValueByte(c)) {
        return Fail(400, "a control byte in a trailer's value");
      }
      return Step::kMore;
    default:
      if (byte != '\n') return Fail(400, "a carriage return without a line feed");
      state_ = State::kLine;
      return Step::kMore;
  }
}

HttpChunks::Step HttpChunks::Fail(int status, std::string_view reason) {
  error_ = {.status = status, .reason = reason};
  return Step::kError;
}

}  // namespace sluice::wire

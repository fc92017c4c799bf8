#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/http_limits.h"

namespace sluice::wire {

/// Incremental parser of chunked bodies. Extensions and trailers are validated, counted and
/// dropped.
class HttpChunks {
 public:
  enum class Step : std::uint8_t { kMore, kDone, kError };

  /// Resets the parser for another body.
  void Begin();

  /// Consumes the body from the front of `bytes` and appends its data to `body`.
  Step Read(std::string_view& bytes, const HttpLimits& limits, std::string& body);

  [[nodiscard]] const HttpError& error() const { return error_; }

 private:
  enum class State : std::uint8_t {
    kFirstDigit,
    kDigits,
    kExtension,
    kSizeEnd,
    kData,
    kDataEnd,
    kDataEnded,
    kLine,
    kTrailerName,
    kTrailerValue,
    kTrailerEnd,
    kLastEnd,
    kDone,
  };

  Step Take(unsigned char byte, const HttpLimits& limits);
  Step TakeDigit(unsigned char byte, const HttpLimits& limits);
  Step TakeTrailer(unsigned char byte, const HttpLimits& limits);
  Step Fail(int status, std::string_view reason);

  State state_ = State::kFirstDigit;
  int digits_ = 0;
  std::size_t left_ = 0;   ///< Remaining bytes of this chunk.
  std::size_t total_ = 0;  ///< Size of all chunks so far, including this one.
  std::size_t extra_ = 0;  ///< Bytes of extensions and trailers.
  std::size_t trailers_ = 0;
  HttpError error_;
};

}  // namespace sluice::wire

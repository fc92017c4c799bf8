#pragma once

#include <cstddef>
#include <string_view>

namespace sluice::wire {

/// Limits of one request.
struct HttpLimits {
  std::size_t max_request_line = 8U << 10;  ///< Without its line end; more is 414.
  /// All headers with their line ends; more is 431. A chunked body's extensions and trailers
  /// together may be as long again.
  std::size_t max_header_bytes = 16U << 10;
  std::size_t max_headers = 100;    ///< At most 250; more is 431. Trailers likewise.
  std::size_t max_body = 1U << 20;  ///< More is 413.
  /// For bodies that HttpReader::AllowLargeBody admits; at most `max_body`: disabled.
  std::size_t max_large_body = 0;
};

/// The reason why a request is rejected.
struct HttpError {
  int status = 0;
  std::string_view reason;  ///< A short sentence with static storage.
};

}  // namespace sluice::wire

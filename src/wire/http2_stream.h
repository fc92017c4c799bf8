#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::wire {

struct Http2Header {
  std::string_view name;  ///< In lower case, of static storage.
  std::string_view value;
  bool is_static = true;  ///< The value has static storage, too.
};

/// A request and its response. Recycled with its buffers.
struct Http2Stream {
  std::int32_t id = 0;
  std::size_t header_bytes = 0;
  bool request_ended = false;
  bool responded = false;  ///< The head of the response was submitted.

  std::string body;         ///< Of the response; the `sent` part may be removed.
  std::size_t sent = 0;     ///< Bytes of the body moved to the session's output.
  bool body_ended = false;  ///< The body is complete; trailers follow.
  std::string_view status;  ///< For the trailers: grpc-status, of static storage.
  std::string message;      ///< And grpc-message, if it is not empty.

  void Clear() {
    id = 0;
    header_bytes = 0;
    request_ended = false;
    responded = false;
    body.clear();
    sent = 0;
    body_ended = false;
    status = {};
    message.clear();
  }
};

}  // namespace sluice::wire

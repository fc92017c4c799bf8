#pragma once

#include <cstddef>
#include <string_view>

#include "base/clock.h"

namespace sluice::api {

/// Where the body of a streaming response is written: the session.
class StreamSink {
 public:
  /// Bytes that may be written now. The client has not read the rest; what does not fit is to be
  /// dropped, or written later.
  [[nodiscard]] virtual std::size_t room() const = 0;
  /// Writes a part of the body. Beyond room(), the part is not written.
  virtual bool Write(std::string_view bytes) = 0;
  /// Ends the response.
  virtual void End() = 0;

 protected:
  ~StreamSink() = default;
};

/// A response whose body is made while it is sent, for as long as the client stays. Lives on its
/// session's loop. It is destroyed when the client disconnects, the server drains, or after End.
class HttpStream {
 public:
  virtual ~HttpStream() = default;

  /// Begins: the head of the response is written. `sink` outlives the stream.
  virtual void Start(StreamSink& sink) = 0;
  /// Runs about once a second.
  virtual void OnTimer(SteadyTime now) = 0;
};

}  // namespace sluice::api

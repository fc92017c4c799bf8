#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nghttp2/nghttp2.h>

#include "wire/http2_guard.h"
#include "wire/http2_memory.h"
#include "wire/http2_stream.h"

namespace sluice::wire {

struct Http2Limits {
  std::uint32_t max_streams = 1024;
  /// Names and values of one request, plus 32 bytes for each field, as in RFC 9113.
  std::size_t max_header_bytes = std::size_t{16} << 10;
};

/// Handles the requests of a session. Callbacks run inside Receive and Send; a handler may respond
/// immediately.
class Http2Handler {
 public:
  /// A request begins. Returns its stream object, which must stay valid until OnClosed.
  virtual Http2Stream& OnStream() = 0;
  virtual void OnHeader(Http2Stream& stream, std::string_view name, std::string_view value) = 0;
  /// All headers were received; beyond max_header_bytes some were not reported.
  virtual void OnHeaders(Http2Stream& stream) = 0;
  virtual void OnData(Http2Stream& stream, std::string_view bytes) = 0;
  /// The request is complete.
  virtual void OnEnd(Http2Stream& stream) = 0;
  /// The stream was closed or reset, and must not be used any more.
  virtual void OnClosed(Http2Stream& stream) = 0;
  /// All of the stream's body so far was sent and removed.
  virtual void OnBodySent(Http2Stream& stream) = 0;
  /// A ping was answered.
  virtual void OnPong(std::uint64_t number) = 0;

 protected:
  ~Http2Handler() = default;
};

/// The server's side of an HTTP/2 connection: bytes in, bytes out. No clock: Passed reports the
/// elapsed time.
class Http2Session {
 public:
  /// All arguments must outlive the session.
  Http2Session(Http2Handler& handler, const Http2Limits& limits, Http2Memory& memory);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  enum class End : std::uint8_t {
    kNone,
    kDone,   ///< Finished normally.
    kError,  ///< A protocol error of the client.
    kNotHttp2,
    kAbuse,  ///< See abuse().
  };

  /// Consumes all of the bytes.
  void Receive(std::string_view bytes);
  /// Appends pending output until `out` has `most` bytes. Returns whether that was all.
  bool Send(std::string& out, std::size_t most);

  /// The reason of the end. Pending output should still be sent.
  [[nodiscard]] End end() const { return end_; }
  [[nodiscard]] Http2Abuse abuse() const { return abuse_; }

  /// Sends the head of a response. With kBody, the stream's body follows as it becomes available,
  /// then the trailers.
  enum class Rest : std::uint8_t { kNone, kBody };
  void Respond(Http2Stream& stream, std::span<const Http2Header> headers, Rest rest);
  /// Continues with a body that has grown or ended.
  void Resume(Http2Stream& stream);
  /// Closes a stream with an error of HTTP/2.
  void Reset(Http2Stream& stream, std::uint32_t error);

  void Ping(std::uint64_t number);
  /// Sends GOAWAY followed by a ping with this number; its answer shows that the client has
  /// received the GOAWAY. Requests on their way are still answered.
  void SendGoAway(std::uint64_t number);
  /// Ignores further requests; a final GOAWAY has the last stream that is answered.
  void TakeNoMore();
  /// Ends the connection because of abuse.
  void EndFor(Http2Abuse abuse);

  /// Counts an inflated message. Ends the connection if the budget for inflation is exhausted.
  void CountInflated(std::size_t compressed, std::size_t size);

  /// Reports elapsed time.
  void Passed(Micros time) { guard_.Passed(time); }
  /// True while the connection preface or a header block is incomplete.
  [[nodiscard]] bool in_headers() const { return !greeted_ || in_headers_; }

 private:
  friend struct Http2Callbacks;

  int OnBeginFrame(const nghttp2_frame_hd& head);
  /// Returns whether a stream of the client existed and was closed.
  [[nodiscard]] bool IsClosed(std::int32_t id) const;
  int OnFrame(const nghttp2_frame& frame);
  int OnHeader(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  void OnFrameSent(const nghttp2_frame& frame);
  void OnStreamClosed(std::int32_t id);
  ssize_t ReadBody(Http2Stream& stream, std::span<std::uint8_t> buffer, std::uint32_t& flags);
  void OnFatal(int error);
  /// Return value for nghttp2's callbacks: stops reading once the session has ended.
  [[nodiscard]] int Ended() const {
    return end_ == End::kNone ? 0 : static_cast<int>(NGHTTP2_ERR_CALLBACK_FAILURE);
  }
  [[nodiscard]] int Spend(Http2Abuse kind, std::int64_t count = 1);
  [[nodiscard]] Http2Stream* Find(std::int32_t id) const;
  void AppendGoAway(std::uint32_t error);

  Http2Handler& handler_;
  const Http2Limits limits_;
  Http2Guard guard_;
  nghttp2_session* session_ = nullptr;
  std::string farewell_;  // GOAWAY written by us, where nghttp2 can't any more.
  End end_ = End::kNone;
  Http2Abuse abuse_{};
  std::uint32_t sent_error_ = NGHTTP2_NO_ERROR;
  std::optional<std::uint64_t> goodbye_;  // A ping that follows a GOAWAY.
  bool greeted_ = false;
  bool in_headers_ = false;
  std::int32_t last_stream_ = 0;  ///< The highest stream of the client.
};

}  // namespace sluice::wire

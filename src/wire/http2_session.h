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
  /// Names and values of one request, with 32 bytes for each: as HTTP/2 counts them.
  std::size_t max_header_bytes = std::size_t{16} << 10;
};

/// Handles the requests of a session. Callbacks run while the session receives, or
/// sends; it may be answered there and then.
class Http2Handler {
 public:
  /// A request begins: room for it, which stays until OnClosed.
  virtual Http2Stream& OnStream() = 0;
  virtual void OnHeader(Http2Stream& stream, std::string_view name, std::string_view value) = 0;
  /// All headers have arrived. Past max_header_bytes not all were reported.
  virtual void OnHeaders(Http2Stream& stream) = 0;
  virtual void OnData(Http2Stream& stream, std::string_view bytes) = 0;
  /// The request is whole.
  virtual void OnEnd(Http2Stream& stream) = 0;
  /// Both sides are done with it, or one has reset it. Nothing more may be done to it.
  virtual void OnClosed(Http2Stream& stream) = 0;
  /// All of the stream's body so far was sent, and is gone.
  virtual void OnBodySent(Http2Stream& stream) = 0;
  /// The ping with this number was answered.
  virtual void OnPong(std::uint64_t number) = 0;

 protected:
  ~Http2Handler() = default;
};

/// The server's side of an HTTP/2 connection: bytes in, bytes out. No clock: its transport
/// says how much time has passed.
class Http2Session {
 public:
  /// All must outlive it.
  Http2Session(Http2Handler& handler, const Http2Limits& limits, Http2Memory& memory);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  enum class End : std::uint8_t {
    kNone,
    kDone,   ///< There is nothing more to say.
    kError,  ///< The client broke the protocol.
    kNotHttp2,
    kAbuse,  ///< As `abuse` says.
  };

  /// Takes all of the bytes.
  void Receive(std::string_view bytes);
  /// Appends what there is to send, until `out` is as long as `most`. True: that was all.
  bool Send(std::string& out, std::size_t most);

  /// How it ended. What there is to send should still be sent, then nothing more is to be done.
  [[nodiscard]] End end() const { return end_; }
  [[nodiscard]] Http2Abuse abuse() const { return abuse_; }

  /// Sends the head of an answer. `ends`: that is all of it. Else the stream's body follows, as far
  /// as it is there, then its trailers.
  enum class Rest : std::uint8_t { kNone, kBody };
  void Respond(Http2Stream& stream, std::span<const Http2Header> headers, Rest rest);
  /// The body has become longer, or has ended.
  void Resume(Http2Stream& stream);
  /// Closes a stream with an error of HTTP/2.
  void Reset(Http2Stream& stream, std::uint32_t error);

  void Ping(std::uint64_t number);
  /// Asks the client to send no more requests; those on their way are still answered. The ping with
  /// this number follows: who answers it has heard.
  void SendGoAway(std::uint64_t number);
  /// Requests that come from now on are not answered, and the client knows which.
  void TakeNoMore();
  /// Ends the connection with what the client did.
  void EndFor(Http2Abuse abuse);

  /// A compressed message of so many bytes was inflated to `size`. Ends the connection if there was
  /// too much of that.
  void CountInflated(std::size_t compressed, std::size_t size);

  /// Time went by.
  void Passed(Micros time) { guard_.Passed(time); }
  /// Whether the client is in the middle of a greeting, or of a request's headers.
  [[nodiscard]] bool in_headers() const { return !greeted_ || in_headers_; }

 private:
  friend struct Http2Callbacks;

  int OnBeginFrame(const nghttp2_frame_hd& head);
  /// Whether a stream of the client's was there once, and is not any more.
  [[nodiscard]] bool IsClosed(std::int32_t id) const;
  int OnFrame(const nghttp2_frame& frame);
  int OnHeader(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  void OnFrameSent(const nghttp2_frame& frame);
  void OnStreamClosed(std::int32_t id);
  ssize_t ReadBody(Http2Stream& stream, std::span<std::uint8_t> room, std::uint32_t& flags);
  void OnFatal(int error);
  /// For nghttp2: nothing more is read once the session has ended.
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
  std::string farewell_;  // Written by hand, where nghttp2 can't any more.
  End end_ = End::kNone;
  Http2Abuse abuse_{};
  std::uint32_t sent_error_ = NGHTTP2_NO_ERROR;
  std::optional<std::uint64_t> goodbye_;  // A ping that follows a GOAWAY.
  bool greeted_ = false;
  bool in_headers_ = false;
  std::int32_t last_stream_ = 0;  ///< The highest that the client has begun.
};

}  // namespace sluice::wire

#include "wire/http2_session.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace sluice::wire {
namespace {

constexpr std::int32_t kConnectionWindow = 1 << 20;
constexpr std::uint32_t kStreamWindow = 256U << 10;
// Multiple of max_header_bytes that counts as abuse.
constexpr std::size_t kHarmfulHeaders = 4;
constexpr std::size_t kMostContinuations = 8;
// Compression ratio that is free of charge.
constexpr std::size_t kUsualInflation = 8;

std::string_view View(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

nghttp2_nv ToNv(const Http2Header& header) {
  // Nothing is written to: nghttp2 has no const there.
  return {.name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(header.name.data())),
          .value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(header.value.data())),
          .namelen = header.name.size(),
          .valuelen = header.value.size(),
          .flags = static_cast<std::uint8_t>(
              NGHTTP2_NV_FLAG_NO_COPY_NAME |
              (header.is_static ? NGHTTP2_NV_FLAG_NO_COPY_VALUE : NGHTTP2_NV_FLAG_NONE))};
}

}  // namespace

/// Callbacks of nghttp2, passed on to the session.
struct Http2Callbacks {
  static Http2Session& Self(void* self) { return *static_cast<Http2Session*>(self); }

  static int BeginFrame(nghttp2_session*, const nghttp2_frame_hd* head, void* self) {
    return Self(self).OnBeginFrame(*head);
  }
  static int BeginHeaders(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    Http2Stream& stream = Self(self).handler_.OnStream();
    stream.id = frame->hd.stream_id;
    return nghttp2_session_set_stream_user_data(session, stream.id, &stream);
  }
  static int Header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t /*flags*/, void* self) {
    return Self(self).OnHeader(*frame, View(name, name_size), View(value, value_size));
  }
  static int Frame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    return Self(self).OnFrame(*frame);
  }
  static int InvalidFrame(nghttp2_session*, const nghttp2_frame* /*frame*/, int /*error*/,
                          void* self) {
    Self(self).in_headers_ = false;
    return 0;
  }
  static int Data(nghttp2_session*, std::uint8_t /*flags*/, std::int32_t id,
                  const std::uint8_t* bytes, std::size_t size, void* self) {
    Http2Session& session = Self(self);
    if (Http2Stream* const stream = session.Find(id)) {
      session.handler_.OnData(*stream, View(bytes, size));
    }
    return session.Ended();
  }
  static int StreamClosed(nghttp2_session*, std::int32_t id, std::uint32_t /*error*/, void* self) {
    Self(self).OnStreamClosed(id);
    return 0;
  }
  static int FrameSent(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    Self(self).OnFrameSent(*frame);
    return 0;
  }
  static int PassOver(nghttp2_session*, void** /*payload*/, const nghttp2_frame_hd* /*head*/,
                      void* /*self*/) {
    return NGHTTP2_ERR_CANCEL;
  }
  static ssize_t ReadBody(nghttp2_session*, std::int32_t /*id*/, std::uint8_t* buffer,
                          std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                          void* self) {
    return Self(self).ReadBody(*static_cast<Http2Stream*>(source->ptr), {buffer, size}, *flags);
  }

  static const nghttp2_session_callbacks* All() {
    static const nghttp2_session_callbacks* const all = [] {
      nghttp2_session_callbacks* made = nullptr;
      if (nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
      nghttp2_session_callbacks_set_on_begin_frame_callback(made, BeginFrame);
      nghttp2_session_callbacks_set_on_begin_headers_callback(made, BeginHeaders);
      nghttp2_session_callbacks_set_on_header_callback(made, Header);
      nghttp2_session_callbacks_set_on_frame_recv_callback(made, Frame);
      nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(made, InvalidFrame);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, Data);
      nghttp2_session_callbacks_set_on_stream_close_callback(made, StreamClosed);
      nghttp2_session_callbacks_set_on_frame_send_callback(made, FrameSent);
      nghttp2_session_callbacks_set_unpack_extension_callback(made, PassOver);
      return made;
    }();
    return all;
  }
  static const nghttp2_option* Options() {
    static const nghttp2_option* const options = [] {
      nghttp2_option* made = nullptr;
      if (nghttp2_option_new(&made) != 0) throw std::bad_alloc();
      nghttp2_option_set_no_closed_streams(made, 1);
      // Resets are charged to the guard, and answered requests refill it.
      constexpr std::uint64_t kNever = std::uint64_t{1} << 40;
      nghttp2_option_set_stream_reset_rate_limit(made, kNever, kNever);
      nghttp2_option_set_max_continuations(made, kMostContinuations);
      // Unknown frames reach the guard only here.
      for (int type = NGHTTP2_CONTINUATION + 1; type <= 0xFF; ++type) {
        nghttp2_option_set_user_recv_extension_type(made, static_cast<std::uint8_t>(type));
      }
      return made;
    }();
    return options;
  }
};

Http2Session::Http2Session(Http2Handler& handler, const Http2Limits& limits, Http2Memory& memory)
    : handler_(handler), limits_(limits) {
  if (nghttp2_session_server_new3(&session_, Http2Callbacks::All(), this, Http2Callbacks::Options(),
                                  memory.functions()) != 0) {
    throw std::bad_alloc();
  }
  const std::array<nghttp2_settings_entry, 4> settings{{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.max_streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits.max_header_bytes)},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  }};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

Http2Session::~Http2Session() { nghttp2_session_del(session_); }

void Http2Session::Receive(std::string_view bytes) {
  if (end_ != End::kNone) return;
  const ssize_t taken = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken < 0 && end_ == End::kNone) OnFatal(static_cast<int>(taken));
}

bool Http2Session::Send(std::string& out, std::size_t most) {
  while (farewell_.empty() && out.size() < most) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
    if (size < 0) {
      OnFatal(static_cast<int>(size));
      break;
    }
    if (size == 0) {
      if (end_ == End::kNone && nghttp2_session_want_read(session_) == 0) {
        end_ = sent_error_ == NGHTTP2_NO_ERROR ? End::kDone : End::kError;
      }
      return true;
    }
    out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }
  if (farewell_.empty()) return false;
  out += farewell_;
  farewell_.clear();
  return true;
}

void Http2Session::OnFatal(int error) {
  if (error == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS) return EndFor(Http2Abuse::kContinuations);
  if (error == NGHTTP2_ERR_FLOODED) return EndFor(Http2Abuse::kPings);
  if (error == NGHTTP2_ERR_BAD_CLIENT_MAGIC) {
    end_ = End::kNotHttp2;
    return;
  }
  end_ = End::kError;
  AppendGoAway(NGHTTP2_INTERNAL_ERROR);
}

void Http2Session::EndFor(Http2Abuse abuse) {
  if (end_ != End::kNone) return;
  end_ = End::kAbuse;
  abuse_ = abuse;
  AppendGoAway(NGHTTP2_ENHANCE_YOUR_CALM);
}

void Http2Session::AppendGoAway(std::uint32_t error) {
  const auto last = static_cast<std::uint32_t>(nghttp2_session_get_last_proc_stream_id(session_));
  constexpr char kGoAway = 7;
  farewell_.assign({0, 0, 8, kGoAway, 0, 0, 0, 0, 0});
  for (const std::uint32_t number : {last, error}) {
    for (const int shift : {24, 16, 8, 0}) farewell_ += static_cast<char>(number >> shift);
  }
}

// Return value for nghttp2 that stops reading.
int Http2Session::Spend(Http2Abuse kind, std::int64_t count) {
  if (guard_.Spend(kind, count)) return 0;
  EndFor(kind);
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

void Http2Session::CountInflated(std::size_t compressed, std::size_t size) {
  const std::size_t usual = compressed * kUsualInflation;
  if (size <= usual) return;
  constexpr std::size_t kUnit = 1024;
  static_cast<void>(
      Spend(Http2Abuse::kInflation, static_cast<std::int64_t>((size - usual + kUnit - 1) / kUnit)));
}

Http2Stream* Http2Session::Find(std::int32_t id) const {
  return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session_, id));
}

bool Http2Session::IsClosed(std::int32_t id) const {
  return id <= last_stream_ && nghttp2_session_find_stream(session_, id) == nullptr;
}

int Http2Session::OnBeginFrame(const nghttp2_frame_hd& head) {
  // The only notice of the end of headers that nghttp2 passes over.
  if (head.type != NGHTTP2_CONTINUATION) in_headers_ = head.type == NGHTTP2_HEADERS;
  switch (head.type) {
    case NGHTTP2_DATA:
    case NGHTTP2_CONTINUATION:
    case NGHTTP2_GOAWAY:
      return 0;
    case NGHTTP2_HEADERS:
      if (IsClosed(head.stream_id)) return Spend(Http2Abuse::kClosedStreams);
      last_stream_ = std::max(last_stream_, head.stream_id);
      return 0;
    case NGHTTP2_PING:
      return Spend(Http2Abuse::kPings);
    case NGHTTP2_SETTINGS:
      return Spend(Http2Abuse::kSettings);
    case NGHTTP2_WINDOW_UPDATE:
      return Spend(Http2Abuse::kWindowUpdates);
    case NGHTTP2_RST_STREAM:
      return Spend(Http2Abuse::kResets);
    default:
      return Spend(Http2Abuse::kPriorities);
  }
}

int Http2Session::OnHeader(const nghttp2_frame& frame, std::string_view name,
                           std::string_view value) {
  Http2Stream* const stream = Find(frame.hd.stream_id);
  if (stream == nullptr) return 0;
  constexpr std::size_t kOverhead = 32;
  stream->header_bytes += name.size() + value.size() + kOverhead;
  if (stream->header_bytes > limits_.max_header_bytes * kHarmfulHeaders) {
    EndFor(Http2Abuse::kHeaders);
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  // Trailers are ignored.
  if (frame.headers.cat == NGHTTP2_HCAT_REQUEST &&
      stream->header_bytes <= limits_.max_header_bytes) {
    handler_.OnHeader(*stream, name, value);
  }
  return 0;
}

int Http2Session::OnFrame(const nghttp2_frame& frame) {
  const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  switch (frame.hd.type) {
    case NGHTTP2_SETTINGS:
      greeted_ = true;
      return 0;
    case NGHTTP2_PING:
      if ((frame.hd.flags & NGHTTP2_FLAG_ACK) != 0) {
        std::uint64_t number = 0;
        std::memcpy(&number, frame.ping.opaque_data, sizeof number);
        handler_.OnPong(number);
      }
      return 0;
    case NGHTTP2_HEADERS:
      in_headers_ = false;
      break;
    case NGHTTP2_DATA:
      if (frame.hd.length == frame.data.padlen && !ends) return Spend(Http2Abuse::kEmptyData);
      break;
    default:
      return 0;
  }
  Http2Stream* const stream = Find(frame.hd.stream_id);
  if (stream == nullptr) return 0;
  stream->request_ended = ends;
  if (frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
    handler_.OnHeaders(*stream);
  }
  if (ends) handler_.OnEnd(*stream);
  return Ended();
}

void Http2Session::OnStreamClosed(std::int32_t id) {
  if (Http2Stream* const stream = Find(id)) {
    nghttp2_session_set_stream_user_data(session_, id, nullptr);
    handler_.OnClosed(*stream);
  }
}

void Http2Session::OnFrameSent(const nghttp2_frame& frame) {
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA: {
      if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
      guard_.Answered();
      // Does not wait for further input of the client.
      const Http2Stream* const stream = Find(frame.hd.stream_id);
      if (stream != nullptr && !stream->request_ended) {
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame.hd.stream_id,
                                  NGHTTP2_NO_ERROR);
      }
      return;
    }
    case NGHTTP2_RST_STREAM:
      // A client can make us reset streams, too, by errors in them.
      if (frame.rst_stream.error_code != NGHTTP2_NO_ERROR) {
        static_cast<void>(Spend(Http2Abuse::kResets));
      }
      return;
    case NGHTTP2_GOAWAY:
      sent_error_ = frame.goaway.error_code;
      // Not earlier, because pings overtake all other frames.
      if (goodbye_) Ping(*std::exchange(goodbye_, std::nullopt));
      return;
    default:
      return;
  }
}

void Http2Session::Respond(Http2Stream& stream, std::span<const Http2Header> headers, Rest rest) {
  constexpr std::size_t kMost = 8;
  std::array<nghttp2_nv, kMost> fields;
  const std::size_t count = std::min(headers.size(), kMost);
  std::transform(headers.begin(), headers.begin() + static_cast<std::ptrdiff_t>(count),
                 fields.begin(), ToNv);
  const nghttp2_data_provider body{.source = {.ptr = &stream},
                                   .read_callback = Http2Callbacks::ReadBody};
  stream.responded = true;
  nghttp2_submit_response(session_, stream.id, fields.data(), count,
                          rest == Rest::kBody ? &body : nullptr);
}

void Http2Session::Resume(Http2Stream& stream) { nghttp2_session_resume_data(session_, stream.id); }

void Http2Session::Reset(Http2Stream& stream, std::uint32_t error) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id, error);
}

ssize_t Http2Session::ReadBody(Http2Stream& stream, std::span<std::uint8_t> buffer,
                               std::uint32_t& flags) {
  const std::size_t size = std::min(buffer.size(), stream.body.size() - stream.sent);
  if (size == 0 && !stream.body_ended) return NGHTTP2_ERR_DEFERRED;
  std::memcpy(buffer.data(), stream.body.data() + stream.sent, size);
  stream.sent += size;
  if (stream.sent < stream.body.size()) return static_cast<ssize_t>(size);
  stream.body.clear();
  stream.sent = 0;
  handler_.OnBodySent(stream);
  if (!stream.body_ended) return static_cast<ssize_t>(size);
  const std::array<nghttp2_nv, 2> trailers{
      ToNv({.name = "grpc-status", .value = stream.status}),
      ToNv({.name = "grpc-message", .value = stream.message, .is_static = false})};
  flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
  nghttp2_submit_trailer(session_, stream.id, trailers.data(), stream.message.empty() ? 1 : 2);
  return static_cast<ssize_t>(size);
}

void Http2Session::Ping(std::uint64_t number) {
  std::array<std::uint8_t, sizeof number> bytes;
  std::memcpy(bytes.data(), &number, sizeof number);
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, bytes.data());
}

void Http2Session::SendGoAway(std::uint64_t number) {
  goodbye_ = number;
  nghttp2_submit_shutdown_notice(session_);
}

void Http2Session::TakeNoMore() {
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

}  // namespace sluice::wire

#include "wire/testing/http2_client.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "wire/grpc_frame.h"

namespace sluice::wire::testing {
namespace {

std::string Text(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

std::uint8_t* Bytes(const std::string& text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

std::string Find(const Http2Client::Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

}  // namespace

int Http2Client::Answer::status() const {
  const std::string status = Find(trailers.empty() ? headers : trailers, "grpc-status");
  return status.empty() ? -1 : std::stoi(status);
}

std::string Http2Client::Answer::message() const {
  return Find(trailers.empty() ? headers : trailers, "grpc-message");
}

nghttp2_session_callbacks* Http2Client::MakeCallbacks() {
  nghttp2_session_callbacks* all = nullptr;
  nghttp2_session_callbacks_new(&all);
  nghttp2_session_callbacks_set_on_header_callback(
      all, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
              std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
              std::uint8_t, void* self) {
        Answer& answer = static_cast<Http2Client*>(self)->answers_[frame->hd.stream_id];
        const bool first = frame->headers.cat == NGHTTP2_HCAT_RESPONSE;
        (first ? answer.headers : answer.trailers)[Text(name, name_size)] = Text(value, value_size);
        return 0;
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      all, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes,
              std::size_t size, void* self) {
        static_cast<Http2Client*>(self)->answers_[id].body += Text(bytes, size);
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      all, [](nghttp2_session*, std::int32_t id, std::uint32_t error, void* self) {
        Answer& answer = static_cast<Http2Client*>(self)->answers_[id];
        answer.closed = true;
        answer.error = error;
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      all, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
        auto& client = *static_cast<Http2Client*>(self);
        if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
          ++client.pings_;
        } else if (frame->hd.type == NGHTTP2_GOAWAY) {
          client.goodbyes_.emplace_back(frame->goaway.last_stream_id, frame->goaway.error_code);
        }
        return 0;
      });
  return all;
}

Http2Client::Http2Client(std::uint32_t window) {
  nghttp2_session_callbacks* const callbacks = MakeCallbacks();
  nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &entry, 1);
}

Http2Client::~Http2Client() { nghttp2_session_del(session_); }

std::int32_t Http2Client::Begin(std::string_view path, const Fields& more) {
  Fields fields{{":method", "POST"},    {":scheme", "http"}, {":path", std::string(path)},
                {":authority", "test"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
  for (const auto& [name, value] : more) fields[name] = value;
  std::vector<nghttp2_nv> headers;
  for (const auto& [name, value] : fields) {
    if (value.empty()) continue;
    headers.push_back({Bytes(name), Bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* room,
                              std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                              void* self) -> ssize_t {
    Body& body = static_cast<Http2Client*>(self)->bodies_[id];
    const std::size_t count = std::min(size, body.bytes.size());
    if (count == 0 && !body.ended) return NGHTTP2_ERR_DEFERRED;
    std::memcpy(room, body.bytes.data(), count);
    body.bytes.erase(0, count);
    if (body.ended && body.bytes.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  };
  return nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &provider,
                                nullptr);
}

void Http2Client::Say(std::int32_t stream, std::string_view bytes) {
  bodies_[stream].bytes += bytes;
  nghttp2_session_resume_data(session_, stream);
}

void Http2Client::End(std::int32_t stream) {
  bodies_[stream].ended = true;
  nghttp2_session_resume_data(session_, stream);
}

void Http2Client::Cancel(std::int32_t stream) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
}

std::int32_t Http2Client::Call(std::string_view path, std::string_view message,
                               const Fields& more) {
  const std::int32_t stream = Begin(path, more);
  Say(stream, Framed(message));
  End(stream);
  return stream;
}

std::string Http2Client::Output() {
  std::string output;
  const std::uint8_t* bytes = nullptr;
  for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &bytes)) > 0;) {
    output += Text(bytes, static_cast<std::size_t>(size));
  }
  return output;
}

void Http2Client::Receive(std::string_view bytes) {
  nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                           bytes.size());
}

std::string Framed(std::string_view message, bool compressed) {
  std::string framed;
  AppendGrpcFrame(message, compressed ? Compressed::kYes : Compressed::kNo, framed);
  return framed;
}

}  // namespace sluice::wire::testing

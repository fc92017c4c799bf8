#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/header_sink.h"
#include "wire/http_request.h"

namespace sluice::wire {

/// The interim response to `Expect: 100-continue`.
inline constexpr std::string_view kHttpContinue = "HTTP/1.1 100 Continue\r\n\r\n";

/// Properties of a request that determine its response.
struct HttpResponseOptions {
  int minor_version = 1;
  bool keep_alive = true;  ///< The connection may be used for another request.
  bool head_only = false;  ///< HEAD: without the body.
  /// Only for the client: caches must not store it, browsers must not guess its type.
  bool is_private = false;

  [[nodiscard]] static HttpResponseOptions For(const HttpRequest& request) {
    return {.minor_version = request.minor_version,
            .keep_alive = request.keep_alive,
            .head_only = request.verb == HttpMethod::kHead};
  }
};

/// Appends one response to a string: the status line and common headers, further headers, the body.
/// Must end with Finish or EndBody.
///
///     HttpResponse response(output, 200, date, HttpResponseOptions::For(request));
///     response.Add("X-RateLimit-Limit", limit);
///     response.Finish("application/json", body);
class HttpResponse final : public HeaderSink {
 public:
  /// `date` is the value of the Date header (HttpDate).
  HttpResponse(std::string& output, int status, std::string_view date,
               const HttpResponseOptions& options);

  /// Control characters in a value become blanks, against header injection. A header with an
  /// invalid name is dropped.
  HttpResponse& Add(std::string_view name, std::string_view value) override;
  HttpResponse& Add(std::string_view name, std::int64_t value) override;

  void Finish(std::string_view content_type, std::string_view body);
  /// Without a body.
  void Finish();

  /// Starts a body that the caller appends to the returned output; EndBody sets its length.
  std::string& BeginBody(std::string_view content_type);
  void EndBody();

  /// Ends the head of a response whose body is sent while it is made: in chunks (AppendChunk), or
  /// to a client of HTTP/1.0 as it is, until the connection is closed.
  void BeginStream(std::string_view content_type);

 private:
  void AddLength(std::size_t length);

  std::string& output_;
  std::size_t body_at_ = 0;
  bool head_only_;
  bool has_chunks_;  ///< HTTP/1.1: of a streamed body.
  bool has_length_;  ///< 1xx, 204 and 304 say nothing about a body.
};

/// Appends a part of a streamed body: not empty, since an empty chunk is the last.
void AppendChunk(std::string_view bytes, std::string& out);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace sluice::wire
